#!lua
-- Acquires, renews or releases the lease KEYS[1], in the era KEYS[2]. ARGV: the time in microseconds
-- or empty for the server's own, the verb, the holder or the token, the time to
-- live, the latest format that the caller knows. The token is kept forever, so that it only
-- grows, and begins anew in each era above all that there were. Answers the token (0
-- when refused), the time at which the lease lapses, and who holds it.

local now
if ARGV[1] == '' then
  local t = redis.call('TIME')
  now = t[1] * 1000000 + t[2]
else
  now = tonumber(ARGV[1])
end
local verb, who, ttl = ARGV[2], ARGV[3], tonumber(ARGV[4])
local floor, form = unpack(redis.call('HMGET', KEYS[2], 'floor', 'format'))
if form and tonumber(form) > tonumber(ARGV[5]) then return redis.error_reply('FORMAT the store has format ' .. form) end
local token, holder, expires = unpack(redis.call('HMGET', KEYS[1], 't', 'h', 'e'))
local held = expires and tonumber(expires) > now

if verb == 'acquire' then
  if held and holder ~= who then return {0, tonumber(expires), holder} end
  token = math.max((token or 0) + 1, tonumber(floor or 0))
  redis.call('HSET', KEYS[1], 't', token, 'h', who, 'e', now + ttl)
  return {token, now + ttl, who}
end
if not held or token ~= who then return {0, 0, ''} end
if verb == 'renew' then
  redis.call('HSET', KEYS[1], 'e', now + ttl)
  return {tonumber(token), now + ttl, holder}
end
redis.call('HSET', KEYS[1], 'e', now)
return {tonumber(token), now, holder}
