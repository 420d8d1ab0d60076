#!lua flags=no-writes
-- Answers entries of the histories KEYS: of each those whose version is greater than
-- ARGV[2i-1], by ascending version, at most ARGV[2i].

-- place.lua

local answers = {}
for i, key in ipairs(KEYS) do
  local from = place(key, tonumber(ARGV[2 * i - 1]))
  answers[i] = redis.call('LRANGE', key, from, from + tonumber(ARGV[2 * i]) - 1)
end
return answers
