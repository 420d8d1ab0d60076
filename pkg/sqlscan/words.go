package sqlscan

import (
	"strings"
	"sync"
)

// leading are the kinds of a statement by its first word. Any other first word is Other.
var leading = kindTable(`
select=select values=select table=select with=select
insert=insert update=update delete=delete merge=merge upsert=insert,update replace=insert,delete
create=ddl alter=ddl drop=ddl truncate=ddl,delete rename=ddl comment=ddl undrop=ddl
grant=grant revoke=grant deny=grant
call=call exec=call execute=call do=call prepare=call deallocate=call perform=call
copy=copy load=copy unload=copy import=copy export=copy backup=copy restore=copy,ddl bulk=copy,insert put=copy get=copy
set=set reset=set use=set discard=set
begin=transaction start=transaction commit=transaction rollback=transaction savepoint=transaction release=transaction abort=transaction
end=transaction xa=transaction save=transaction lock=transaction unlock=transaction
explain=explain describe=explain desc=explain show=explain
`)

// anywhere are words that begin a statement inside another, in every dialect: in a CTE, behind EXPLAIN,
// in a block. select counts there, too, unless there is another.
var anywhere = kindTable(`
insert=insert update=update delete=delete merge=merge drop=ddl alter=ddl create=ddl grant=grant revoke=grant
call=call exec=call execute=call updlock=transaction xlock=transaction tablockx=transaction
outfile=copy dumpfile=copy writetext=update updatetext=update reconfigure=other shutdown=other
`)

// withoutEnd are further words that may begin a statement where no ; ends the one before.
var withoutEnd = kindTable(`
use=set begin=transaction commit=transaction rollback=transaction backup=copy restore=copy,ddl dbcc=other kill=other waitfor=other
deny=grant bulk=copy,insert setuser=set revert=set checkpoint=other
`)

// blocks begin a block, whose statements have any first word.
var blocks = wordSet(`begin declare if while loop repeat case for end else elseif then atomic explain is as`)

// unnamed are first words of statements of blocks that have no kind.
var unnamed = wordSet(`refresh vacuum reindex attach detach pragma listen notify install uninstall flush purge optimize repair change stop kill security reassign`)

// needsMore are first words by which a client reads what the text does not show.
var needsMore = wordSet(`delimiter source system tee pager edit host run exit quit spool input`)

// notFunctions are words that may stand before ( and are no function.
var notFunctions = wordSet(`
select from where having by on using in not and or xor exists any all some as over filter within group values value row array when then else case end
join into table update set limit offset union except intersect distinct primary key unique foreign references check default constraint index
returning between like ilike rlike regexp match is escape partition order lateral with insert delete only interval
return explain analyze verbose fulltext spatial top percent conflict recursive pivot unpivot for tablesample always cube rollup grouping option
varchar nvarchar char nchar character varbinary binary varying text blob clob decimal numeric dec float double real int integer bigint smallint tinyint
mediumint bit time timestamp timestamptz timetz datetime datetime2 datetimeoffset date year enum varchar2 nvarchar2 bpchar precision bool boolean
`)

// notInDDL are further words of statements that define something.
var notInDDL = wordSet(`range list hash columns include includes identity engine options stored btree gin gist brin spgist number string than column to`)

// harmless are functions that only compute from their arguments, the clock or chance, in every dialect
// that has them.
var harmless = wordSet(`
count sum avg min max stddev stddev_pop stddev_samp variance var_pop var_samp corr covar_pop covar_samp regr_slope regr_intercept regr_r2 mode median
percentile_cont percentile_disc array_agg string_agg group_concat listagg json_agg jsonb_agg json_object_agg jsonb_object_agg json_group_array
json_group_object json_arrayagg json_objectagg bool_and bool_or every bit_and bit_or bit_xor total count_big stdev stdevp var varp checksum_agg any_value
approx_count_distinct first_value last_value nth_value lag lead rank dense_rank percent_rank cume_dist ntile row_number
lower upper initcap length len char_length character_length octet_length bit_length datalength trim ltrim rtrim btrim substr substring substring_index
left right lpad rpad repeat replicate reverse replace translate concat concat_ws position strpos instr locate charindex patindex ascii chr char unicode
nchar quotename quote quote_literal quote_ident quote_nullable format printf to_char to_number split_part string_to_array array_to_string
regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_like regexp_substr regexp_instr regexp_count
starts_with ends_with contains overlay stuff space soundex difference metaphone levenshtein field find_in_set elt insert hex unhex to_hex encode decode
md5 sha1 sha2 sha224 sha256 sha384 sha512 crc32 to_base64 from_base64 convert cast try_cast try_convert convert_from convert_to collate parse try_parse
string_split string_escape string_to_table glob like likelihood likely unlikely typeof pg_typeof zeroblob unistr
abs ceil ceiling floor round trunc truncate sign mod power pow sqrt cbrt exp ln log log10 log2 pi degrees radians sin cos tan cot asin acos atan atan2 atn2
sinh cosh tanh random rand randomblob gcd lcm factorial greatest least width_bucket square div isnumeric
coalesce nullif ifnull nvl nvl2 isnull iif if decode case choose num_nulls num_nonnulls
now current_date current_time current_timestamp localtime localtimestamp clock_timestamp statement_timestamp transaction_timestamp timeofday getdate
getutcdate sysdatetime sysutcdatetime sysdatetimeoffset curdate curtime sysdate utc_date utc_time utc_timestamp unix_timestamp from_unixtime unixepoch
date time datetime timestamp julianday strftime timediff date_trunc date_part date_bin extract age make_date make_time make_timestamp make_timestamptz
make_interval justify_days justify_hours justify_interval isfinite to_date to_timestamp date_add date_sub adddate subdate addtime subtime datediff dateadd datepart
datename datefromparts datetimefromparts eomonth isdate date_format time_format str_to_date timestampdiff timestampadd last_day makedate maketime
day dayname dayofmonth dayofweek dayofyear month monthname quarter week weekday weekofyear year yearweek hour minute second microsecond time_to_sec
sec_to_time to_days from_days period_add period_diff get_format convert_tz months_between add_months next_day
generate_series generate_subscripts unnest array_length array_upper array_lower array_ndims array_position array_positions array_append array_prepend
array_cat array_remove array_replace cardinality array_dims
json json_array json_object json_extract json_unquote json_quote json_type json_valid json_length json_depth json_keys json_contains json_contains_path
json_search json_set json_insert json_replace json_remove json_merge json_merge_patch json_merge_preserve json_pretty json_value json_query json_each
json_tree json_table json_exists openjson isjson json_modify jsonb json_overlaps json_storage_size
to_json to_jsonb row_to_json array_to_json json_build_object json_build_array jsonb_build_object jsonb_build_array jsonb_set jsonb_insert jsonb_pretty
jsonb_typeof json_typeof jsonb_array_length json_array_length jsonb_each jsonb_each_text json_each_text jsonb_object_keys json_object_keys
jsonb_array_elements jsonb_array_elements_text json_array_elements json_array_elements_text jsonb_extract_path jsonb_extract_path_text
json_extract_path json_extract_path_text jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_path_exists jsonb_path_match jsonb_strip_nulls
json_strip_nulls jsonb_to_record jsonb_to_recordset json_to_record json_to_recordset json_patch json_error_position
to_tsvector to_tsquery plainto_tsquery phraseto_tsquery websearch_to_tsquery ts_rank ts_rank_cd ts_headline setweight similarity
gen_random_uuid uuid newid uuid_generate_v4 bin_to_uuid uuid_to_bin is_uuid inet_aton inet_ntoa inet6_aton inet6_ntoa host masklen network family
version current_user session_user current_schema current_database database schema user lower_inc upper_inc isempty
bernoulli system_rows daterange int4range int8range numrange tsrange tstzrange
`)

// fromInside are functions that take FROM or USING between their arguments.
var fromInside = wordSet(`extract trim substring substr overlay position convert`)

// kindTable reads word=kind,kind.
func kindTable(table string) func() map[string][]string {
	return sync.OnceValue(func() map[string][]string {
		kinds := map[string][]string{}
		for line := range strings.FieldsSeq(table) {
			name, list, _ := strings.Cut(line, "=")
			kinds[name] = strings.Split(list, ",")
		}
		return kinds
	})
}
