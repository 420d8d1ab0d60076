#!lua
-- Tells, and keeps, which era of the store's history this is. KEYS[1] is the hash of
-- the era: id, the server process run that it is of, the number n of writes so far,
-- the least fencing token floor, the loss lost, if any; g:id is the number of
-- writes with which an earlier era has ended, q:id how many of them a replica has seen; and
-- the format of the store, unless that is the first.
-- ARGV: the verb; the caller's era and how many writes it has seen; the id of a new
-- era; the loss, or the format. Answers the era's id, n, the loss, how the caller's era ended, and the format.
--
-- A server that starts, or is promoted, may have lost what the one before has
-- acknowledged: then there is a new era, whose id nobody has seen.

local call, match, format = redis.call, string.match, string.format
local key, verb, mine, seen, fresh = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local FORGIVEN = '9007199254740992'

local run = match(call('INFO', 'server'), 'run_id:(%w+)') .. match(call('INFO', 'replication'), 'master_replid:(%w+)')
local id, n, was, lost = unpack(call('HMGET', key, 'id', 'n', 'run', 'lost'))
n = n or '0'

local function close()
  if id and id ~= '' then call('HSET', key, 'g:' .. id, n) end
end

if verb == 'condemn' then
  close()
  id, lost = '', ARGV[5]
  call('HSET', key, 'id', '', 'lost', lost, 'q:' .. mine, seen) -- no commit is of an era without a name
elseif verb == 'raise' then
  if tonumber(call('HGET', key, 'format') or 0) < tonumber(ARGV[5]) then call('HSET', key, 'format', ARGV[5]) end
elseif verb == 'accept' and lost then
  local all = call('HGETALL', key)
  for i = 1, #all, 2 do
    local blind = match(all[i], '^q:(.*)')
    if blind then
      call('HSET', key, 'g:' .. blind, FORGIVEN)
      call('HDEL', key, all[i])
    end
  end
  call('HDEL', key, 'lost')
  was, lost = '', false
end
if not lost and was ~= run then
  close()
  -- Tokens of a lost history were given once a microsecond at most.
  local t, floor = call('TIME'), 0
  if id then floor = math.max(t[1] * 1000000 + t[2], tonumber(call('HGET', key, 'floor') or 0) + 1) end
  id = fresh
  call('HSET', key, 'id', id, 'n', n, 'run', run, 'floor', format('%.0f', floor))
end
return {id, tonumber(n), lost or '', call('HGET', key, 'g:' .. mine) or '', tonumber(call('HGET', key, 'format') or 0)}
