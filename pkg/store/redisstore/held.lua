#!lua flags=no-writes
-- Answers the token of the lease KEYS[1], the time at which it lapses, and who
-- holds it, unless nobody does. ARGV[1] is the time in microseconds or empty for
-- the server's own.

local token, holder, expires = unpack(redis.call('HMGET', KEYS[1], 't', 'h', 'e'))
if not expires then return false end
local now
if ARGV[1] == '' then
  local t = redis.call('TIME')
  now = t[1] * 1000000 + t[2]
else
  now = tonumber(ARGV[1])
end
if now >= tonumber(expires) then return false end
return {tonumber(token), tonumber(expires), holder}
