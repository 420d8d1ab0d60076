#!lua
-- Answers the record of a store, KEYS[1]: its format, the format that it is being raised to, the
-- program that it has its format from, its number of shards, and the backup that is being restored
-- into it. When there is none, and no backup, it is made of ARGV: format, program, shards.

if not redis.call('HGET', KEYS[1], 'restoring') and redis.call('HSETNX', KEYS[1], 'format', ARGV[1]) == 1 then
  redis.call('HSET', KEYS[1], 'program', ARGV[2])
  redis.call('HSETNX', KEYS[1], 'shards', ARGV[3])
end
return redis.call('HMGET', KEYS[1], 'format', 'raising', 'program', 'shards', 'restoring')
