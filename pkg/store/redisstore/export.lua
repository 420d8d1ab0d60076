#!lua flags=no-writes
-- Answers what a backup has of the keys KEYS, of histories from the versions ARGV on: of as
-- many of them as fit, and of one at least.

-- item.lua

local items = {}
for i, name in ipairs(KEYS) do
  items[i] = read(name, ARGV[i])
  if size > MOST then break end
end
return items
