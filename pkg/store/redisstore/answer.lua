#!lua flags=no-writes
-- Answers what the idempotency key KEYS[1] stored, unless that has lapsed.
-- ARGV[1] is the time in microseconds or empty for the server's own. With ARGV[2] it answers
-- only the version of the history entry that the answer is, 0 for none.

-- place.lua

local value = redis.call('GET', KEYS[1])
if not value then return false end
local now
if ARGV[1] == '' then
  local t = redis.call('TIME')
  now = t[1] * 1000000 + t[2]
else
  now = tonumber(ARGV[1])
end
local kind, expires, size, at = string.match(value, '^(r?)(%-?%d+):(%d+):()')
if now >= tonumber(expires) then return false end
if kind == '' then return ARGV[2] and '0' or string.sub(value, at + size) end
-- It is a history entry: its version and its record.
local version, record = string.match(value, '^(%d+) (.*)$', at + size)
if ARGV[2] then return version end
return entryOf(historyOf(KEYS[1], record), version)
