#!lua flags=no-writes
-- Answers the timers that are due at ARGV[1] (microseconds), the oldest first,
-- at most ARGV[2]: member, value, member, value. KEYS: due times, values.

local members = redis.call('ZRANGE', KEYS[1], '-inf', ARGV[1], 'BYSCORE', 'LIMIT', 0, ARGV[2])
local timers = {}
for i, member in ipairs(members) do
  timers[2 * i - 1], timers[2 * i] = member, redis.call('HGET', KEYS[2], member)
end
return timers
