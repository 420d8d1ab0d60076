#!lua
-- Answers the record of a store, KEYS[1]: its format, the format that it is being raised to, the
-- program that it has its format from, and its number of shards. When there is none, it is
-- made of ARGV: format, program, shards.

if redis.call('HSETNX', KEYS[1], 'format', ARGV[1]) == 1 then
  redis.call('HSET', KEYS[1], 'program', ARGV[2])
  redis.call('HSETNX', KEYS[1], 'shards', ARGV[3])
end
return redis.call('HMGET', KEYS[1], 'format', 'raising', 'program', 'shards')
