#!lua flags=no-writes
-- Answers which of the sets of timers KEYS have one with a score of at most ARGV[1].

local due, count, most = {}, redis.call, ARGV[1]
for i = 1, #KEYS do
  if count('ZCOUNT', KEYS[i], '-inf', most) > 0 then due[#due + 1] = i end
end
return due
