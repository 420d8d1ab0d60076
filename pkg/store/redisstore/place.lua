-- A history is a list. An entry is its version, a hyphen, its time, a blank and its bytes.

-- The version of the entry at an index of a history.
local function versionAt(key, i) return tonumber(string.match(redis.call('LINDEX', key, i), '^%d+')) end

-- The index of the first entry whose version is greater than after. At most as many
-- entries follow as versions, and just as many unless some have none.
local function place(key, after)
  local n = redis.call('LLEN', key)
  if n == 0 then return 0 end
  local last = versionAt(key, -1)
  if last <= after then return n end
  local lo, hi = math.max(0, n - (last - after)), n - 1
  while lo < hi and versionAt(key, lo) <= after do
    local mid = math.floor((lo + hi) / 2)
    if versionAt(key, mid) > after then hi = mid else lo = mid + 1 end
  end
  return lo
end

-- The history that has the answer of an idempotency key: that of a record, or of the
-- record of a kind that has the namespace and the id of the key's owner.
local function historyOf(key, record)
  if not string.find(record, '/', 1, true) then
    local namespace, id = string.match(key, '^.-:{%d+}:k:([^/]*)/[^/]*/([^/]*)/')
    record = namespace .. '/' .. record .. '/' .. id
  end
  return string.match(key, '^.-:{%d+}:') .. 'h:' .. record
end

-- The bytes of the entry of a version, which is text, or nothing.
local function entryOf(key, version)
  local found = redis.call('LINDEX', key, place(key, version - 1))
  if not found or string.match(found, '^%d+') ~= version then return '' end
  local _, blank = string.find(found, ' ', 1, true)
  return string.sub(found, blank + 1)
end
