#!lua
-- Applies one or many independent batches and answers one result for each. A batch is checked whole before
-- anything is written, for a script cannot be rolled back, and one that fails does
-- not affect its neighbours.
--
-- KEYS[1] is the hash of the era, see era.lua, and then follow the keys of all
-- operations, in their order. ARGV[1] is the time in microseconds, or empty for the
-- server's own; ARGV[2] is the era in which the batches were decided, and ARGV[3] how many writes were seen of
-- it: in any other history nothing runs, and the answer is nothing, as in a store of a format
-- later than ARGV[5]. ARGV[4] is not empty
-- when replicas have to confirm what is answered. Then, for each batch: its number of
-- keys, its number of arguments and its operations, in the order in which the contract
-- evaluates them. commit.go says what the results are. After them are the number of writes
-- of the era, and the time.

-- place.lua

local call = redis.call
local KEYS, ARGV = KEYS, ARGV
local tonumber, format, match, gmatch, sub = tonumber, string.format, string.match, string.gmatch, string.sub
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

local stamp = format('%.0f', now) -- a number would be printed anew by each call
local at = '-' .. stamp .. ' ' -- between the version and the bytes of a history entry

local era = call('HMGET', KEYS[1], 'id', 'n', 'format')
if era[1] == '' or era[1] ~= ARGV[2] or tonumber(era[2]) < tonumber(ARGV[3]) then return {} end
if era[3] and tonumber(era[3]) > tonumber(ARGV[5]) then return {} end

-- A backup under way wants to know what changes, see copy.lua; while it ends, nothing may.
local marks = sub(KEYS[1], 1, -2) .. 'd'
if call('EXISTS', marks) == 0 then
  marks = nil
elseif call('EXISTS', sub(KEYS[1], 1, -2) .. 'f') == 1 then
  return {'frozen'}
end

-- Notes that a key changes; of a history, from which version on.
local function mark(field, version)
  if not marks then return end
  local first = version and call('HGET', marks, field)
  if first and tonumber(first) <= version then return end
  call('HSET', marks, field, version and format('%.0f', version) or '')
end

local wrote = false -- whether the batch has written anything yet
local any = false   -- whether some batch has

-- What earlier batches have read or left, for many of those that are sent together
-- ask for the same. Forgotten when a batch breaks off.
local versions -- by the key of a record
local recent   -- by the key of a windowed counter: see window

local function forget() versions, recent = {}, {} end
forget()

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
-- entries before it, base the running total before it, the last entry's time and
-- units; and what the batch does: add units, take away the oldest. A clock that steps
-- back is held at the newest entry, so it never admits more.
local function window(key, length, dropped)
  local w = {at = now, sum = 0, drop = 0, len = 0, base = 0, total = 0, add = 0, take = 0}
  if dropped then return w end
  local r = recent[key]
  if r and r.length == length then
    w.at, w.sum, w.len, w.base, w.total, w.last, w.units, w.armed = r.at, r.sum, r.len, r.base, r.total, r.at, r.units, true
    return w
  end
  local t, u, total = entry(key, -1)
  if not t then return w end
  w.at, w.total, w.len, w.last, w.units = max(now, t), total, call('LLEN', key), t, u
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
  local left = w.base + w.take + need
  local i = first(key, w.drop - 1, w.len - 1, function(_, c) return c >= left end)
  local t = entry(key, i)
  return t + length
end

local function save(key, w, length, owner, field)
  local drop = w.drop
  if w.take > 0 then
    local left = w.base + w.take
    drop = first(key, drop - 1, w.len - 1, function(_, c) return c >= left end)
    local t, _, c = entry(key, drop)
    if c == left then drop = drop + 1 else call('LSET', key, drop, packed(t, c - left, c)) end
  end
  if drop > 0 then call('LTRIM', key, drop, -1) end
  local empty = drop == w.len
  if w.add > 0 then
    local t, u, c = w.last, w.units, w.total
    if w.take > 0 and not empty then t, u, c = entry(key, -1) end
    if empty then
      call('RPUSH', key, packed(w.at, w.add, w.add))
      call('HSET', owner, field, key)
    elseif t == w.at then
      call('LSET', key, -1, packed(t, u + w.add, c + w.add))
    else
      call('RPUSH', key, packed(w.at, w.add, w.total + w.add))
    end
    if own and (empty or not w.armed) then call('PEXPIRE', key, floor(length / 1000) + 60000) end
  end
  recent[key] = nil
  if w.add > 0 and w.take == 0 then
    local r = {length = length, at = w.at, sum = w.sum, len = w.len - drop, base = w.base, total = w.total + w.add, units = w.add}
    if empty then r.base, r.total = 0, w.add end
    if w.last == w.at and not empty then r.units = w.units + w.add else r.len = r.len + 1 end
    recent[key] = r
  end
end

local function unindex(index, labels, id)
  for label in gmatch(labels, '[^\n]+') do call('ZREM', index .. '/' .. label, id) end
end

-- What is known of the batch under way. A table that is still none is made
-- when it is needed, for most batches need few.
local none = {}
local result, n           -- the result and its length
local condition, counter  -- indexes of the precondition and the counter at hand
local known               -- by the place of a record's key: its version and labels before
local reset               -- by the key of an owner's counters: the windowed ones that go
local plain               -- by the key of an owner's counters: value by field
local windows             -- by the key of a windowed counter: see window
local added               -- what M has added: key, field, minus the delta

local check, write = {}, {} -- by operation: where the next begins, and why not

-- The answer that is stored in the value of a key from a place on: its bytes, or after an
-- r which history entry has them, by its version and its record, see historyOf.
local function answered(key, kind, value, at)
  if kind == '' then return sub(value, at) end
  local version, record = match(value, '^(%d+) (.*)$', at)
  return entryOf(historyOf(key, record), version)
end

-- Idempotency key: digest, answer, time to live.
function check.I(k, a)
  local value = call('GET', KEYS[k])
  if value then
    local kind, expires, size, at = match(value, '^(r?)(%-?%d+):(%d+):()')
    if now < tonumber(expires) then
      if sub(value, at, at + size - 1) ~= ARGV[a + 1] then return k, a, {MISMATCH} end
      any = true -- replicas confirm what is written, and so the first write too
      return k, a, {REPLAY, answered(KEYS[k], kind, value, at + size)}
    end
  end
  return k + 1, a + 4
end

local function remember(key, kind, digest, ttl, answer)
  local value = kind .. format('%.0f:%d:', now + ttl, #digest) .. digest .. answer
  if own then
    call('SET', key, value, 'PX', floor(ttl / 1000) + 1000)
  else
    call('SET', key, value)
  end
  mark(key)
end

function write.I(k, a)
  remember(KEYS[k], '', ARGV[a + 1], tonumber(ARGV[a + 3]), ARGV[a + 2])
  return k + 1, a + 4
end

-- Idempotency key whose answer is a history entry of the batch: digest, nothing, time to
-- live. It is written by J, after the appends.
check.K = check.I

function write.K(k, a) return k + 1, a + 4 end

-- What K remembers: digest, time to live, the place of the version in the result, the record.
function check.J(k, a) return k + 1, a + 5 end

function write.J(k, a)
  remember(KEYS[k], 'r', ARGV[a + 1], tonumber(ARGV[a + 2]), format('%.0f ', result[tonumber(ARGV[a + 3])]) .. ARGV[a + 4])
  return k + 1, a + 5
end

-- Fence: the token with which the lease must be held, 0 for not at all.
function check.F(k, a)
  local r = call('HMGET', KEYS[k], 't', 'e')
  local expires = tonumber(r[2] or 0)
  local token = expires > now and r[1] or '0'
  if token == ARGV[a + 1] then return k + 1, a + 2 end
  if token == '0' then return k, a, {FENCED} end
  return k, a, {FENCED, call('HGET', KEYS[k], 'h'), expires}
end

function write.F(k, a) return k + 1, a + 2 end

-- Check: version.
function check.C(k, a)
  condition = condition + 1
  local want = ARGV[a + 1]
  if want ~= '-1' then
    local have = versions[KEYS[k]] or call('HGET', KEYS[k], 'v') or '0'
    versions[KEYS[k]] = have
    if want ~= have then return k, a, {CONFLICT, condition, tonumber(have)} end
  end
  return k + 1, a + 2
end

write.C = write.F

-- Put: expected version, id, data, labels, number of labels, number of history
-- entries, and those, the last of which is of the new version.
function check.P(k, a)
  condition = condition + 1
  local want, labels = ARGV[a + 1], ARGV[a + 4]
  local r = call('HMGET', KEYS[k], 'v', 'l', 'x')
  local have = r[1] or '0'
  if want ~= have and want ~= '-1' then return k, a, {CONFLICT, condition, tonumber(have)} end
  local old = r[2] or ''
  if known == none then known = {} end
  known[k] = {r[1], old}
  n = n + 1
  result[n] = (r[1] or r[3] or 0) + 1
  local entries = tonumber(ARGV[a + 6])
  k, a = k + 2 + tonumber(ARGV[a + 5]), a + 7
  if entries == 0 then return k, a end
  result[n] = result[n] + entries - 1
  return k + 1, a + entries
end

function write.P(k, a)
  n = n + 1
  local record, index, id, labels, number = KEYS[k], KEYS[k + 1], ARGV[a + 2], ARGV[a + 4], tonumber(ARGV[a + 5])
  local version, old = known[k][1], known[k][2]
  local text = format('%.0f', result[n])
  versions[record] = nil
  mark(record)
  if old == labels then
    call('HSET', record, 'v', text, 'd', ARGV[a + 3], 't', stamp)
  else
    call('HSET', record, 'v', text, 'd', ARGV[a + 3], 't', stamp, 'l', labels)
    unindex(index, old, id)
    for i = 1, number do call('ZADD', KEYS[k + 1 + i], 0, id) end
  end
  if not version then call('ZADD', index, 0, id) end
  local entries = tonumber(ARGV[a + 6])
  k, a = k + 2 + number, a + 7
  if entries == 0 then return k, a end
  mark(KEYS[k], result[n] - entries + 1)
  for i = 1 - entries, -1 do
    call('RPUSH', KEYS[k], format('%.0f', result[n] + i) .. at .. ARGV[a - 1 + entries + i])
  end
  call('RPUSH', KEYS[k], text .. at .. ARGV[a - 1 + entries])
  return k + 1, a + entries
end

-- Append: id, entry.
function check.A(k, a)
  n = n + 1
  result[n] = 0
  return k + 3, a + 3
end

function write.A(k, a)
  n = n + 1
  local record = KEYS[k]
  local version = call('HINCRBY', record, 'v', 1)
  if version == 1 then -- it is new, or was deleted
    local ended = call('HGET', record, 'x')
    if ended then version = call('HINCRBY', record, 'v', ended) end
    call('ZADD', KEYS[k + 1], 0, ARGV[a + 1])
  end
  result[n] = version
  local text = format('%.0f', version)
  versions[record] = text
  call('RPUSH', KEYS[k + 2], text .. at .. ARGV[a + 2])
  mark(record)
  mark(KEYS[k + 2], version)
  return k + 3, a + 3
end

-- Delete: version, id.
function check.D(k, a)
  condition = condition + 1
  local want = ARGV[a + 1]
  local r = call('HMGET', KEYS[k], 'v', 'l')
  local have = r[1] or '0'
  if want ~= have and want ~= '-1' then return k, a, {CONFLICT, condition, tonumber(have)} end
  local old = r[2] or ''
  if known == none then known = {} end
  known[k] = {r[1], old}
  return k + 2, a + 3
end

function write.D(k, a)
  local record, index, id = KEYS[k], KEYS[k + 1], ARGV[a + 2]
  local version, old = known[k][1], known[k][2]
  versions[record] = nil
  if version then
    mark(record)
    call('HSET', record, 'x', version) -- a record that comes back continues here
    call('HDEL', record, 'v', 'd', 't', 'l')
    call('ZREM', index, id)
    unindex(index, old, id)
  end
  return k + 2, a + 3
end

-- Timer that must be as it was read: member, value.
function check.U(k, a)
  condition = condition + 1
  if call('HGET', KEYS[k + 1], ARGV[a + 1]) ~= ARGV[a + 2] then return k, a, {CONFLICT, condition, 0} end
  return k + 2, a + 3
end

function write.U(k, a) return k + 2, a + 3 end

-- History to forget: the first version that stays.
function check.H(k, a) return k + 1, a + 2 end

function write.H(k, a)
  local stays = place(KEYS[k], tonumber(ARGV[a + 1]) - 1)
  if stays > 0 then
    call('LTRIM', KEYS[k], stays, -1)
    mark(KEYS[k], MOST)
  end
  return k + 1, a + 2
end

-- Reset of an owner's counters.
function check.R(k, a)
  local all, keys = call('HGETALL', KEYS[k]), {}
  for i = 1, #all, 2 do
    if sub(all[i], 1, 1) == 'w' then keys[#keys + 1] = all[i + 1] end
  end
  if reset == none then reset = {} end
  reset[KEYS[k]] = keys
  return k + 1, a + 1
end

function write.R(k, a)
  mark(KEYS[k])
  for _, key in ipairs(reset[KEYS[k]]) do
    call('DEL', key)
    recent[key] = nil
  end
  call('DEL', KEYS[k])
  return k + 1, a + 1
end

-- The values that an owner's counters have before the batch.
local function stored(key, a, number)
  if reset[key] then return {} end
  local fields = {}
  for i = 1, number do fields[i] = ARGV[a - 1 + 3 * i] end
  return call('HMGET', key, unpack(fields))
end

-- Plain counters of one owner: their number, and of each its field, delta, limit.
function check.N(k, a)
  local key, number = KEYS[k], tonumber(ARGV[a + 1])
  local sums, before = plain[key] or {}, stored(key, a, number)
  if plain == none then plain = {} end
  plain[key] = sums
  for i = 1, number do
    counter = counter + 1
    local field, delta, limit = ARGV[a - 1 + 3 * i], tonumber(ARGV[a + 3 * i]), tonumber(ARGV[a + 1 + 3 * i])
    local value = sums[field] or tonumber(before[i] or 0)
    local sum = value + delta
    if delta >= 0 and (limit >= 0 and sum > limit or sum > MOST) then return k, a, {LIMIT, counter, value} end
    sums[field] = max(sum, 0)
    n = n + 1
    result[n] = sums[field]
  end
  return k + 1, a + 2 + 3 * number
end

function write.N(k, a)
  local key, number = KEYS[k], tonumber(ARGV[a + 1])
  local sums = plain[key]
  local pairs = {}
  for i = 1, number do
    local field = ARGV[a - 1 + 3 * i]
    pairs[2 * i - 1], pairs[2 * i] = field, sums[field]
  end
  call('HSET', key, unpack(pairs))
  mark(key)
  return k + 1, a + 2 + 3 * number
end

-- Plain counter to which something is added, and which nothing before it in the batch
-- changes: field, delta, limit. To add and look takes one call, where to look and then
-- add takes two, so it is added at once; what fails afterwards takes it back.
function check.M(k, a)
  counter = counter + 1
  local delta, limit = tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3])
  local sum = call('HINCRBY', KEYS[k], ARGV[a + 1], ARGV[a + 2])
  if added == none then added = {} end
  added[#added + 1] = {KEYS[k], ARGV[a + 1], 0 - delta} -- and not -0, which Redis cannot read
  if limit >= 0 and sum > limit or sum > MOST then return k, a, {LIMIT, counter, sum - delta} end
  n = n + 1
  result[n] = sum
  return k + 1, a + 4
end

function write.M(k, a)
  mark(KEYS[k])
  return k + 1, a + 4
end

-- Takes back what M has added.
local function takeBack()
  for _, one in ipairs(added) do
    if call('HINCRBY', one[1], one[2], one[3]) == 0 then call('HDEL', one[1], one[2]) end
  end
  added = none
end

-- What the windowed counter holds as the batch leaves it so far.
local function windowed(k, length)
  local key = KEYS[k + 1]
  local w = windows[key] or window(key, length, reset[KEYS[k]])
  if windows == none then windows = {} end
  windows[key] = w
  return w
end

-- Windowed counter: field, delta, limit, length of the window.
function check.W(k, a)
  counter = counter + 1
  local delta, limit, length = tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4])
  local w = windowed(k, length)
  local sum = w.sum + delta
  if limit >= 0 and sum > limit or w.total + w.add + delta > MOST then
    if limit < 0 or delta > limit or sum <= limit then return k, a, {LIMIT, counter, w.sum} end
    return k, a, {LIMIT, counter, w.sum, reopens(KEYS[k + 1], w, length, sum - limit)}
  end
  w.sum, w.add = sum, w.add + delta
  n = n + 1
  result[n] = w.sum
  return k + 2, a + 5
end

function write.W(k, a)
  local w = windows[KEYS[k + 1]]
  if w.add + w.take > 0 then
    save(KEYS[k + 1], w, tonumber(ARGV[a + 4]), KEYS[k], ARGV[a + 1])
    mark(KEYS[k])
    w.add, w.take = 0, 0
  end
  return k + 2, a + 5
end

-- Units of a windowed counter given back: field, how many, when they were admitted,
-- length of the window. The oldest go first, and the batch's own last.
function check.B(k, a)
  counter = counter + 1
  local units, admitted, length = tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4])
  local w = windowed(k, length)
  if admitted > w.at - length then
    local stored = w.sum - w.add
    local back = min(units, w.sum)
    local take = min(back, stored)
    w.take, w.add, w.sum = w.take + take, w.add - (back - take), w.sum - back
  end
  n = n + 1
  result[n] = w.sum
  return k + 2, a + 5
end

write.B = write.W

-- Event: id, subject, payload, and its trace or nothing.
function check.E(k, a) return k + 1, a + 5 end

function write.E(k, a)
  local trace = ARGV[a + 4]
  if trace == '' then
    call('XADD', KEYS[k], '0-*', 'i', ARGV[a + 1], 's', ARGV[a + 2], 'p', ARGV[a + 3], 'e', ARGV[2])
  else
    call('XADD', KEYS[k], '0-*', 'i', ARGV[a + 1], 's', ARGV[a + 2], 'p', ARGV[a + 3], 'e', ARGV[2], 't', trace)
  end
  return k + 1, a + 5
end

-- Event whose payload is a history entry of the batch: id, subject, the place of its
-- version in the result, its record, and its trace or nothing.
function check.G(k, a) return k + 1, a + 6 end

function write.G(k, a)
  local version = format('%.0f', result[tonumber(ARGV[a + 3])])
  local trace = ARGV[a + 5]
  if trace == '' then
    call('XADD', KEYS[k], '0-*', 'i', ARGV[a + 1], 's', ARGV[a + 2], 'h', ARGV[a + 4], 'n', version, 'e', ARGV[2])
  else
    call('XADD', KEYS[k], '0-*', 'i', ARGV[a + 1], 's', ARGV[a + 2], 'h', ARGV[a + 4], 'n', version, 'e', ARGV[2], 't', trace)
  end
  return k + 1, a + 6
end

-- Timer: member, due, value.
function check.T(k, a) return k + 2, a + 4 end

function write.T(k, a)
  -- One that is set as it is already needs no write.
  if call('HGET', KEYS[k + 1], ARGV[a + 1]) ~= ARGV[a + 3] then
    call('ZADD', KEYS[k], ARGV[a + 2], ARGV[a + 1])
    call('HSET', KEYS[k + 1], ARGV[a + 1], ARGV[a + 3])
    mark(KEYS[k + 1] .. '\n' .. ARGV[a + 1])
  end
  return k + 2, a + 4
end

-- Timer to be cleared: member.
function check.X(k, a) return k + 2, a + 2 end

function write.X(k, a)
  call('ZREM', KEYS[k], ARGV[a + 1])
  call('HDEL', KEYS[k + 1], ARGV[a + 1])
  mark(KEYS[k + 1] .. '\n' .. ARGV[a + 1])
  return k + 2, a + 2
end

-- Timer to be put off: member, value as it was read, due, value.
function check.L(k, a) return k + 2, a + 5 end

function write.L(k, a)
  if call('HGET', KEYS[k + 1], ARGV[a + 1]) == ARGV[a + 2] then
    call('ZADD', KEYS[k], ARGV[a + 3], ARGV[a + 1])
    call('HSET', KEYS[k + 1], ARGV[a + 1], ARGV[a + 4])
    mark(KEYS[k + 1] .. '\n' .. ARGV[a + 1])
  end
  return k + 2, a + 5
end

-- The end of a batch that is only judged: it breaks off before anything is written.
function check.Q(k, a) return k, a, {OK} end

-- One batch, whose arguments end before stop.
local function commit(k0, a0, stop)
  result, n, condition, counter = {OK}, 1, -1, -1
  known, reset, plain, windows, added = none, none, none, none, none
  local k, a, failure = k0, a0, nil
  while a < stop do
    k, a, failure = check[ARGV[a]](k, a)
    if failure then
      takeBack()
      return failure
    end
  end
  k, a, n, wrote, any = k0, a0, 1, true, true
  while a < stop do k, a = write[ARGV[a]](k, a) end
  return result
end

local answers, number = {}, 0
local k, a, last = 2, 6, #ARGV
while a <= last do
  local keys, arguments = tonumber(ARGV[a]), tonumber(ARGV[a + 1])
  wrote = false
  local ok, answer = pcall(commit, k, a + 2, a + 2 + arguments)
  if not ok then
    if type(answer) == 'table' then answer = answer.err end
    forget()
    if not wrote then takeBack() end
    answer = {wrote and BROKEN or REFUSED, tostring(answer)}
  end
  number = number + 1
  answers[number] = answer
  k, a = k + keys, a + 2 + arguments
end
answers[number + 1] = any and call('HINCRBY', KEYS[1], 'n', 1) or tonumber(era[2])
-- A connection waits for what it has written itself: to wait for the writes of others,
-- which the answers tell of, it has to write.
if ARGV[4] ~= '' and not any then call('HSET', KEYS[1], 'n', era[2]) end
answers[number + 2] = now
return answers
