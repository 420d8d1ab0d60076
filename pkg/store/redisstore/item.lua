-- What a backup has of a key: its kind, its name and its content. What it has read so far is size.
-- place.lua

local size = 0
local MOST = 4194304 -- bytes that one call reads, and one item more

local function count(text) size = size + #text end

-- The entries of a history from a version on: the version of the first that there is, where to
-- continue, or nothing, and the entries.
local function history(name, from)
  local item = {'h', name, '', ''}
  local n = redis.call('LLEN', name)
  if n == 0 then return item end
  item[3] = string.match(redis.call('LINDEX', name, 0), '^%d+')
  local i = place(name, from - 1)
  while i < n do
    if size > MOST then
      item[4] = string.match(redis.call('LINDEX', name, i), '^%d+')
      return item
    end
    for _, entry in ipairs(redis.call('LRANGE', name, i, i + 15)) do
      item[#item + 1] = entry
      count(entry)
    end
    i = i + 16
  end
  return item
end

-- The counters of an owner: fields and values, and of each windowed one its field, how long it is
-- kept, and its entries.
local function counters(name)
  local all = redis.call('HGETALL', name)
  local item = {'c', name, {}}
  for i = 1, #all, 2 do
    count(all[i] .. all[i + 1])
    if string.sub(all[i], 1, 1) == 'w' then
      local entries = redis.call('LRANGE', all[i + 1], 0, -1)
      for _, entry in ipairs(entries) do count(entry) end
      item[#item + 1] = {all[i], redis.call('PTTL', all[i + 1]), entries}
    else
      table.insert(item[3], all[i])
      table.insert(item[3], all[i + 1])
    end
  end
  return item
end

-- What is stored under a name, or under a key and a field after a line's end. Of a history, from
-- a version on.
local function read(name, from)
  local key, field = string.match(name, '^(.-)\n(.*)$')
  local kind = string.match(name, '^[^{]*{[^}]*}:(%a)')
  if kind == 'h' then return history(name, tonumber(from) or 1) end
  if kind == 'c' then return counters(name) end
  local item = {kind, name}
  if kind == 'r' then
    item[3] = redis.call('HMGET', name, 'v', 'd', 't', 'l', 'x')
    count(item[3][2] or '')
  elseif kind == 'T' then
    item[3] = redis.call('HGET', key, field)
    count(item[3] or '')
  else
    item[3] = redis.call('GET', name)
    count(item[3] or '')
  end
  return item
end
