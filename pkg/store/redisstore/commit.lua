#!lua
-- Applies one or many independent batches and answers one result for each. A
-- batch is checked whole before anything is written, for a script cannot be
-- rolled back, and one that fails does not affect its neighbours.
--
-- KEYS are the keys of all operations, in their order. ARGV[1] is the time in
-- microseconds, or empty for the server's own. Then, for each batch: its number
-- of keys, its number of arguments and its operations, in the order in which
-- the contract evaluates them. commit.go says what the results are.

local call = redis.call
local KEYS, ARGV = KEYS, ARGV
local tonumber, format, match, gmatch, find = tonumber, string.format, string.match, string.gmatch, string.find
local floor, max, min = math.floor, math.max, math.min

local OK, REPLAY, MISMATCH, FENCED, CONFLICT, LIMIT, REFUSED, BROKEN = 0, 1, 2, 3, 4, 5, 6, 7
local MOST = 9007199254740992 -- 2^53: up to here a double holds every integer

local own = ARGV[1] == ''
local now
if own then
  local t = call('TIME')
  now = t[1] * 1000000 + t[2]
else
  now = tonumber(ARGV[1])
end

local wrote = false -- whether the batch has written anything yet

-- An entry of a windowed counter: when, how many units, and the running total.
local function entry(key, i)
  local e = call('LINDEX', key, i)
  if not e then return nil end
  local t, u, c = match(e, '^(%-?%d+) (%d+) (%d+)$')
  return tonumber(t), tonumber(u), tonumber(c)
end

local function packed(t, u, c) return format('%.0f %.0f %.0f', t, u, c) end

-- The first index in (lo, hi] for which is(time, total) holds, when it holds for
-- hi and, once it holds, for all that follow.
local function first(key, lo, hi, is)
  while hi - lo > 1 do
    local mid = floor((lo + hi) / 2)
    local t, _, c = entry(key, mid)
    if is(t, c) then hi = mid else lo = mid end
  end
  return hi
end

-- What a windowed counter holds: sum units in the window that ends at `at`, drop
-- entries before it, base the running total before it. A clock that steps back
-- is held at the newest entry, so it never admits more.
local function window(key, length, dropped)
  local w = {at = now, sum = 0, drop = 0, len = 0, base = 0, total = 0, add = 0, take = 0}
  if dropped then return w end
  local t, _, total = entry(key, -1)
  if not t then return w end
  w.at, w.total, w.len = max(now, t), total, call('LLEN', key)
  local edge = w.at - length
  if t <= edge then
    w.drop, w.base = w.len, total
    return w
  end
  local ht, hu, hc = entry(key, 0)
  if ht <= edge then
    w.drop = first(key, 0, w.len - 1, function(at) return at > edge end)
    ht, hu, hc = entry(key, w.drop)
  end
  w.base = hc - hu
  w.sum = total - w.base
  return w
end

-- When need units will have left the window.
local function reopens(key, w, length, need)
  local stored = w.sum - w.add
  if need > stored then return w.at + length end
  local i = first(key, w.drop - 1, w.len - 1, function(_, c) return c - w.base >= need end)
  local t = entry(key, i)
  return t + length
end

local function save(key, w, length, owner, field)
  if w.drop > 0 then call('LTRIM', key, w.drop, -1) end
  local empty = w.drop == w.len
  local total, last = w.total, nil
  local take = w.take
  while take > 0 do
    local t, u, c = entry(key, -1)
    if u <= take then
      call('RPOP', key)
      take, total = take - u, c - u
    else
      call('LSET', key, -1, packed(t, u - take, c - take))
      take, total = 0, c - take
    end
  end
  if w.add > 0 then
    local t, u, c
    if not empty then t, u, c = entry(key, -1) end
    if not t then
      call('RPUSH', key, packed(w.at, w.add, w.add))
      call('HSET', owner, field, key)
    elseif t == w.at then
      call('LSET', key, -1, packed(t, u + w.add, c + w.add))
    else
      call('RPUSH', key, packed(w.at, w.add, total + w.add))
    end
    if own then call('PEXPIRE', key, floor(length / 1000) + 60000) end
  end
end

-- Reads the label indexes that a record leaves, so that one which is out of
-- reach is an error before anything is written.
local function touch(index, labels, id)
  for label in gmatch(labels, '[^\n]+') do call('ZSCORE', index .. '/' .. label, id) end
end

local function unindex(index, labels, id)
  for label in gmatch(labels, '[^\n]+') do call('ZREM', index .. '/' .. label, id) end
end

local function commit(k0, a0, stop)
  local k, a = k0, a0
  local result, n = {OK}, 1
  local condition, counter = -1, -1
  local known, reset, plain, windows -- tables that few batches need

  -- First pass: check everything.
  local op = ARGV[a]
  while a < stop do
    if op == 'P' then -- expected version, id, data, labels, number of labels, history
      condition = condition + 1
      local want, labels, number = ARGV[a + 1], ARGV[a + 4], tonumber(ARGV[a + 5])
      local r = call('HMGET', KEYS[k], 'v', 'l', 'x')
      local have = r[1] or '0'
      if want ~= have and want ~= '-1' then return {CONFLICT, condition, tonumber(have)} end
      local old = r[2] or ''
      if old ~= '' and old ~= labels then touch(KEYS[k + 1], old, ARGV[a + 2]) end
      known = known or {}
      known[k] = {r[1], old}
      n = n + 1
      result[n] = (r[1] or r[3] or 0) + 1
      k, a = k + 2 + number, a + 7
      if ARGV[a - 1] == '1' then k, a = k + 1, a + 1 end
    elseif op == 'C' then -- version
      condition = condition + 1
      local want = ARGV[a + 1]
      if want ~= '-1' then
        local have = call('HGET', KEYS[k], 'v') or '0'
        if want ~= have then return {CONFLICT, condition, tonumber(have)} end
      end
      k, a = k + 1, a + 2
    elseif op == 'N' then -- number of counters, and of each: field, delta, limit
      local key, number = KEYS[k], tonumber(ARGV[a + 1])
      plain = plain or {}
      local values = plain[key]
      if not values then
        values = {}
        plain[key] = values
      end
      local stored
      if not (reset and reset[key]) then
        if number == 1 then
          stored = {call('HGET', key, ARGV[a + 2])}
        else
          local fields = {}
          for i = 1, number do fields[i] = ARGV[a - 1 + 3 * i] end
          stored = call('HMGET', key, unpack(fields))
        end
      end
      for i = 1, number do
        counter = counter + 1
        local field, delta, limit = ARGV[a - 1 + 3 * i], tonumber(ARGV[a + 3 * i]), tonumber(ARGV[a + 1 + 3 * i])
        local value = values[field] or tonumber(stored and stored[i] or 0)
        local sum = value + delta
        if delta >= 0 and (limit >= 0 and sum > limit or sum > MOST) then return {LIMIT, counter, value} end
        if sum < 0 then sum = 0 end
        values[field] = sum
        n = n + 1
        result[n] = sum
      end
      k, a = k + 1, a + 2 + 3 * number
    elseif op == 'W' then -- field, delta, limit, length of the window
      counter = counter + 1
      local key, delta, limit, length = KEYS[k + 1], tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4])
      windows = windows or {}
      local w = windows[key]
      if not w then
        w = window(key, length, reset and reset[KEYS[k]])
        windows[key] = w
      end
      if delta < 0 then
        local back = min(-delta, w.sum)
        local pending = min(back, w.add)
        w.add, w.take, w.sum = w.add - pending, w.take + back - pending, w.sum - back
      else
        local sum = w.sum + delta
        if limit >= 0 and sum > limit or w.total + w.add + delta > MOST then
          if limit < 0 or delta > limit then return {LIMIT, counter, w.sum} end
          return {LIMIT, counter, w.sum, reopens(key, w, length, sum - limit)}
        end
        w.sum, w.add = sum, w.add + delta
      end
      n = n + 1
      result[n] = w.sum
      k, a = k + 2, a + 5
    elseif op == 'E' then -- id, subject, payload
      k, a = k + 1, a + 4
    elseif op == 'I' then -- digest, answer, time to live
      local value = call('GET', KEYS[k])
      if value then
        local expires, size, at = match(value, '^(%-?%d+):(%d+):()')
        if now < tonumber(expires) then
          if string.sub(value, at, at + size - 1) ~= ARGV[a + 1] then return {MISMATCH} end
          return {REPLAY, string.sub(value, at + size)}
        end
      end
      k, a = k + 1, a + 4
    elseif op == 'F' then -- token
      local r = call('HMGET', KEYS[k], 't', 'e')
      if r[1] ~= ARGV[a + 1] or tonumber(r[2]) <= now then return {FENCED} end
      k, a = k + 1, a + 2
    elseif op == 'D' then -- version, id
      condition = condition + 1
      local want = ARGV[a + 1]
      local r = call('HMGET', KEYS[k], 'v', 'l')
      local have = r[1] or '0'
      if want ~= have and want ~= '-1' then return {CONFLICT, condition, tonumber(have)} end
      local old = r[2] or ''
      touch(KEYS[k + 1], old, ARGV[a + 2])
      known = known or {}
      known[k] = {r[1], old}
      k, a = k + 2, a + 3
    elseif op == 'R' then
      local all, keys = call('HGETALL', KEYS[k]), {}
      for i = 1, #all, 2 do
        if find(all[i], '^w') then
          call('LLEN', all[i + 1])
          keys[#keys + 1] = all[i + 1]
        end
      end
      reset = reset or {}
      reset[KEYS[k]] = keys
      k, a = k + 1, a + 1
    elseif op == 'T' then -- member, due, value
      k, a = k + 2, a + 4
    elseif op == 'X' then -- member
      k, a = k + 2, a + 2
    else
      return {REFUSED, 'unknown operation ' .. tostring(op)}
    end
    op = ARGV[a]
  end

  -- Second pass: write.
  k, a, n = k0, a0, 1
  wrote = true
  while a < stop do
    op = ARGV[a]
    if op == 'P' then
      n = n + 1
      local record, index, id, labels, number = KEYS[k], KEYS[k + 1], ARGV[a + 2], ARGV[a + 4], tonumber(ARGV[a + 5])
      local old = known[k]
      if old[2] == labels then
        call('HSET', record, 'v', result[n], 'd', ARGV[a + 3], 't', now)
      else
        call('HSET', record, 'v', result[n], 'd', ARGV[a + 3], 't', now, 'l', labels)
        unindex(index, old[2], id)
        for i = 1, number do call('ZADD', KEYS[k + 1 + i], 0, id) end
      end
      if not old[1] then call('ZADD', index, 0, id) end
      k, a = k + 2 + number, a + 7
      if ARGV[a - 1] == '1' then
        call('XADD', KEYS[k], format('%.0f-0', result[n]), 't', now, 'd', ARGV[a])
        k, a = k + 1, a + 1
      end
    elseif op == 'C' or op == 'F' then
      k, a = k + 1, a + 2
    elseif op == 'N' then
      local key, number = KEYS[k], tonumber(ARGV[a + 1])
      local values = plain[key]
      if number == 1 then
        call('HSET', key, ARGV[a + 2], values[ARGV[a + 2]])
      else
        local pairs = {}
        for i = 1, number do
          local field = ARGV[a - 1 + 3 * i]
          pairs[2 * i - 1], pairs[2 * i] = field, values[field]
        end
        call('HSET', key, unpack(pairs))
      end
      k, a = k + 1, a + 2 + 3 * number
    elseif op == 'W' then
      local w = windows[KEYS[k + 1]]
      if w.add + w.take > 0 then
        save(KEYS[k + 1], w, tonumber(ARGV[a + 4]), KEYS[k], ARGV[a + 1])
        w.add, w.take = 0, 0
      end
      k, a = k + 2, a + 5
    elseif op == 'E' then
      call('XADD', KEYS[k], '0-*', 'i', ARGV[a + 1], 's', ARGV[a + 2], 'p', ARGV[a + 3])
      k, a = k + 1, a + 4
    elseif op == 'I' then
      local digest, ttl = ARGV[a + 1], tonumber(ARGV[a + 3])
      local value = format('%.0f:%d:', now + ttl, #digest) .. digest .. ARGV[a + 2]
      if own then
        call('SET', KEYS[k], value, 'PX', floor(ttl / 1000) + 1000)
      else
        call('SET', KEYS[k], value)
      end
      k, a = k + 1, a + 4
    elseif op == 'D' then
      local record, index, id = KEYS[k], KEYS[k + 1], ARGV[a + 2]
      local old = known[k]
      if old[1] then
        call('HSET', record, 'x', old[1]) -- a record that comes back continues here
        call('HDEL', record, 'v', 'd', 't', 'l')
        call('ZREM', index, id)
        unindex(index, old[2], id)
      end
      k, a = k + 2, a + 3
    elseif op == 'R' then
      for _, key in ipairs(reset[KEYS[k]]) do call('DEL', key) end
      call('DEL', KEYS[k])
      k, a = k + 1, a + 1
    elseif op == 'T' then
      call('ZADD', KEYS[k], ARGV[a + 2], ARGV[a + 1])
      call('HSET', KEYS[k + 1], ARGV[a + 1], ARGV[a + 3])
      k, a = k + 2, a + 4
    elseif op == 'X' then
      call('ZREM', KEYS[k], ARGV[a + 1])
      call('HDEL', KEYS[k + 1], ARGV[a + 1])
      k, a = k + 2, a + 2
    end
  end
  return result
end

local answers, number = {}, 0
local k, a, last = 1, 2, #ARGV
while a <= last do
  local keys, arguments = tonumber(ARGV[a]), tonumber(ARGV[a + 1])
  wrote = false
  local ok, answer = pcall(commit, k, a + 2, a + 2 + arguments)
  if not ok then
    if type(answer) == 'table' then answer = answer.err end
    answer = {wrote and BROKEN or REFUSED, tostring(answer)}
  end
  number = number + 1
  answers[number] = answer
  k, a = k + keys, a + 2 + arguments
end
return answers
