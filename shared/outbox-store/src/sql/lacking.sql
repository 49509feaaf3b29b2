-- outbox.lacking
-- Tell which of these rights the login lacks. Reads catalogs only, and works where there is no outbox too.
--   $1 text   name of the outbox's schema
--   $2 text   role whose rights they are
--   $3 text[] privileges
--   $4 text[] table, view or function of each; of USAGE the empty text
--   $5 text[] columns of each, with commas between; the empty text for all
-- Returns the rights that are lacking, each as a GRANT has it before TO, and whether the login is a member of the role.
-- What does not exist is lacking nobody: the version of the outbox tells of it.
WITH wanted AS (
    SELECT w.privilege, w.object, w.columns, w.number, n.oid AS schema_oid, n.nspname
    FROM unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS w (privilege, object, columns, number)
    JOIN pg_catalog.pg_namespace AS n ON n.nspname = $1::text
), lacking AS (
    SELECT w.number, format('USAGE ON SCHEMA %I', w.nspname) AS grant_text
    FROM wanted AS w
    WHERE w.privilege = 'USAGE' AND NOT has_schema_privilege(current_user, w.schema_oid, 'USAGE')
    UNION ALL
    SELECT w.number, format('EXECUTE ON FUNCTION %I.%I', w.nspname, w.object)
    FROM wanted AS w
    JOIN pg_catalog.pg_proc AS f ON f.pronamespace = w.schema_oid AND f.proname = w.object
    WHERE w.privilege = 'EXECUTE' AND NOT has_function_privilege(current_user, f.oid, 'EXECUTE')
    UNION ALL
    SELECT w.number, format('%s ON %I.%I', w.privilege, w.nspname, w.object)
    FROM wanted AS w
    JOIN pg_catalog.pg_class AS c ON c.relnamespace = w.schema_oid AND c.relname = w.object
    WHERE w.privilege NOT IN ('USAGE', 'EXECUTE') AND w.columns = ''
      AND NOT has_table_privilege(current_user, c.oid, w.privilege)
    UNION ALL
    SELECT w.number, format('%s (%s) ON %I.%I', w.privilege, string_agg(a.attname, ', ' ORDER BY a.attnum), w.nspname, w.object)
    FROM wanted AS w
    JOIN pg_catalog.pg_class AS c ON c.relnamespace = w.schema_oid AND c.relname = w.object
    JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attname = ANY (string_to_array(w.columns, ', '))
    WHERE w.privilege NOT IN ('USAGE', 'EXECUTE') AND w.columns <> ''
      AND NOT has_column_privilege(current_user, c.oid, a.attnum, w.privilege)
    GROUP BY w.number, w.privilege, w.nspname, w.object
)
SELECT l.grant_text,
       EXISTS (SELECT FROM pg_catalog.pg_roles AS r
               WHERE r.rolname = $2::text AND pg_has_role(current_user, r.oid, 'USAGE')) AS is_member
FROM lacking AS l
ORDER BY l.number
