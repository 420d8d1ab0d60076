#!lua
-- What a backup does in the server. KEYS[1] is a hash of what has changed since it was read, in
-- which commits mark it (see commit.lua), and in the field without a name whose it is. While
-- KEYS[2] is there, no commit changes anything. Both go by themselves when nobody asks for them.
-- ARGV: the verb, the id of the backup, milliseconds, how many.
--
-- A backup begins to mark, reads all keys, and then again what has changed in between, until
-- little is left. Then it freezes the store for a moment, and reads that: what it has is of this
-- moment. One that begins takes the marks over: a backup that finds them gone has failed.

-- item.lua

local call = redis.call
local marks, ice, verb, id, ttl = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]

if verb == 'begin' then
  call('DEL', marks, ice)
  call('HSET', marks, '', id)
  call('PEXPIRE', marks, ttl)
  return {}
end
if call('HGET', marks, '') ~= id then return {} end
if verb == 'renew' then
  call('PEXPIRE', marks, ttl)
elseif verb == 'freeze' then
  call('SET', ice, id, 'PX', ttl)
elseif verb == 'end' then
  call('DEL', marks, ice)
elseif verb == 'thaw' then
  call('DEL', ice)
end
local items = {}
if verb == 'drain' then
  for _, name in ipairs(call('HRANDFIELD', marks, ARGV[4])) do
    if name ~= '' then
      local item = read(name, call('HGET', marks, name))
      if item[1] == 'h' and item[4] ~= '' then
        call('HSET', marks, name, item[4])
      else
        call('HDEL', marks, name)
      end
      items[#items + 1] = item
      if size > MOST then break end
    end
  end
end
-- How much is left, whether it is frozen, and the time.
local t = call('TIME')
return {call('HLEN', marks) - 1, call('EXISTS', ice), t[1] * 1000000 + t[2], items}
