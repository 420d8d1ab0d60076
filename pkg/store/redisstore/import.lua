#!lua
-- Writes what was backed up. KEYS[1] is any key of the store. ARGV: operations, each with
-- its arguments. The last of those about one thing counts, and each may be repeated.

-- place.lua

local call, gmatch = redis.call, string.gmatch

local function unindex(key, index, id)
  for label in gmatch(call('HGET', key, 'l') or '', '[^\n]+') do call('ZREM', index .. '/' .. label, id) end
  call('ZREM', index, id)
end

local write = {}

-- Record: key, index, id, version, data, time or nothing, labels.
function write.R(a)
  local key, index, id, labels = ARGV[a], ARGV[a + 1], ARGV[a + 2], ARGV[a + 6]
  unindex(key, index, id)
  call('DEL', key)
  call('HSET', key, 'v', ARGV[a + 3], 'd', ARGV[a + 4])
  if ARGV[a + 5] ~= '' then call('HSET', key, 't', ARGV[a + 5]) end
  if labels ~= '' then call('HSET', key, 'l', labels) end
  call('ZADD', index, 0, id)
  for label in gmatch(labels, '[^\n]+') do call('ZADD', index .. '/' .. label, 0, id) end
  return a + 7
end

-- Deleted record: key, index, id, version.
function write.X(a)
  unindex(ARGV[a], ARGV[a + 1], ARGV[a + 2])
  call('DEL', ARGV[a])
  call('HSET', ARGV[a], 'x', ARGV[a + 3])
  return a + 4
end

-- History: key, the first version that stays, the number of entries, and of each its version and
-- itself. Entries that were new while the backup was made may have come before older ones.
function write.H(a)
  local key, first, n = ARGV[a], tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  a = a + 3
  local after = a + 2 * n
  local newer = {}
  if n > 0 and call('LLEN', key) > 0 then
    local from = place(key, tonumber(ARGV[a]) - 1)
    newer = call('LRANGE', key, place(key, tonumber(ARGV[after - 2])), -1)
    if from == 0 then call('DEL', key) else call('LTRIM', key, 0, from - 1) end
  end
  for i = a, after - 1, 2 do call('RPUSH', key, ARGV[i + 1]) end
  for _, entry in ipairs(newer) do call('RPUSH', key, entry) end
  local gone = place(key, first - 1)
  if gone > 0 then call('LTRIM', key, gone, -1) end
  return after
end

-- Counters: key, the number of fields and values, those, the number of windowed counters, and of each
-- its key, for how many milliseconds it is kept or nothing, the number of its entries, and those.
function write.C(a)
  local key, n = ARGV[a], tonumber(ARGV[a + 1])
  local old = call('HGETALL', key)
  for i = 1, #old, 2 do
    if string.sub(old[i], 1, 1) == 'w' then call('DEL', old[i + 1]) end
  end
  call('DEL', key)
  a = a + 2
  for i = a, a + n - 1, 2 do call('HSET', key, ARGV[i], ARGV[i + 1]) end
  a = a + n
  local windows = tonumber(ARGV[a])
  a = a + 1
  for _ = 1, windows do
    local window, ttl, entries = ARGV[a], ARGV[a + 1], tonumber(ARGV[a + 2])
    a = a + 3
    for i = a, a + entries - 1 do call('RPUSH', window, ARGV[i]) end
    if ttl ~= '' and entries > 0 then call('PEXPIRE', window, ttl) end
    a = a + entries
  end
  return a
end

-- Idempotency key: key, value or nothing, for how many milliseconds it is kept or nothing.
function write.K(a)
  local key, value, ttl = ARGV[a], ARGV[a + 1], ARGV[a + 2]
  if value == '' then
    call('DEL', key)
  elseif ttl == '' then
    call('SET', key, value)
  else
    call('SET', key, value, 'PX', ttl)
  end
  return a + 3
end

-- Timer: the key of its times, that of its contents, its name, when it is due, its content; nothing
-- for one that was cleared.
function write.T(a)
  if ARGV[a + 4] == '' then
    call('ZREM', ARGV[a], ARGV[a + 2])
    call('HDEL', ARGV[a + 1], ARGV[a + 2])
  else
    call('ZADD', ARGV[a], ARGV[a + 3], ARGV[a + 2])
    call('HSET', ARGV[a + 1], ARGV[a + 2], ARGV[a + 4])
  end
  return a + 5
end

-- The last sequence number of an outbox.
local function last(stream)
  if call('EXISTS', stream) == 0 then return 0 end
  local info = call('XINFO', 'STREAM', stream)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then return tonumber(string.match(info[i + 1], '-(%d+)$')) end
  end
end

-- Event: outbox, sequence number, the number of fields and values, and those.
function write.O(a)
  local n = tonumber(ARGV[a + 2])
  if tonumber(ARGV[a + 1]) > last(ARGV[a]) then
    call('XADD', ARGV[a], '0-' .. ARGV[a + 1], unpack(ARGV, a + 3, a + 2 + n))
  end
  return a + 3 + n
end

-- How many events a shard has had: outbox, sequence number.
function write.S(a)
  local id = '0-' .. ARGV[a + 1]
  if tonumber(ARGV[a + 1]) > last(ARGV[a]) then
    call('XADD', ARGV[a], id, 'i', '')
    call('XDEL', ARGV[a], id)
  end
  return a + 2
end

local a = 1
while a <= #ARGV do a = write[ARGV[a]](a + 1) end
return a
