/** The connection that a migration runs on, within a transaction. */
export interface Queries {
  query(text: string, values?: readonly unknown[]): Promise<{ readonly rows: readonly unknown[] }>
}

/** Advisory locks of this program, in a database that other programs may share. */
const LOCKS = { space: 0x706f7274, migrate: 1, write: 2, decisions: 3, usage: 4 } as const

/**
 * Migrations run in order and never change after a release. Replicas of the previous version keep
 * reading during a rollout, so a migration only adds.
 */
const MIGRATIONS: readonly string[] = [
  `create table portcullis_changes (
     revision bigint primary key,
     action text not null,
     author text not null,
     comment text not null,
     time timestamptz not null default clock_timestamp()
   );
   create table portcullis_history (
     revision bigint not null references portcullis_changes,
     kind text not null,
     id text not null,
     state text not null check (state in ('set', 'hidden', 'reset')),
     value json,
     base json,
     created bigint not null,
     primary key (revision, kind, id)
   );
   create index portcullis_history_of on portcullis_history (kind, id, revision desc);
   create table portcullis_resources (
     kind text not null,
     id text not null,
     revision bigint not null references portcullis_changes,
     state text not null check (state in ('set', 'hidden')),
     value json,
     base json,
     created bigint not null,
     primary key (kind, id)
   );`,
  `create table portcullis_revoked_sessions (
     key text not null,
     before bigint not null,
     until bigint not null
   );
   create index portcullis_revoked_sessions_of on portcullis_revoked_sessions (key);`,
  `alter table portcullis_revoked_sessions add column id bigserial;
   create index portcullis_revoked_sessions_since on portcullis_revoked_sessions (id);`,
  `create table portcullis_budgets (
     account text primary key,
     used bigint not null,
     ends bigint not null
   );
   create index portcullis_budgets_ending on portcullis_budgets (ends);`,
  `create table portcullis_decisions (
     time timestamptz not null,
     id text not null,
     record json not null
   ) partition by range (time);
   create index portcullis_decisions_of on portcullis_decisions (id);
   create index portcullis_decisions_since on portcullis_decisions (time desc);`,
  `create table portcullis_usage (
     time timestamptz not null,
     replica text not null,
     provider text not null,
     model text not null,
     requests float8 not null,
     input_tokens float8 not null,
     output_tokens float8 not null,
     cost float8 not null,
     primary key (time, replica, provider, model)
   ) partition by range (time);
   alter table portcullis_budgets add column budget text;`,
  `create table portcullis_user_tokens (
     key text primary key,
     sealed text not null,
     version text not null,
     claimed timestamptz
   );`,
]

/** Brings the tables up to date; if several replicas call this at once, one of them migrates. */
export async function migrate(client: Queries): Promise<void> {
  await client.query('begin')
  try {
    await lock(client, 'migrate')
    await client.query('create table if not exists portcullis_schema (version int not null)')
    const { rows } = await client.query('select max(version) as version from portcullis_schema')
    const [{ version }] = rows as [{ readonly version: number | null }]
    for (const [index, text] of MIGRATIONS.entries()) {
      if (index < (version ?? 0)) continue
      await client.query(text)
      await client.query('insert into portcullis_schema values ($1)', [index + 1])
    }
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}

/** Held until the transaction ends. */
export async function lock(
  client: Queries,
  what: keyof Omit<typeof LOCKS, 'space'>,
): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1, $2)', [LOCKS.space, LOCKS[what]])
}

/** Begins a transaction that no other process can run at the same time, in one round trip. */
export async function beginLocked(
  client: Queries,
  what: Parameters<typeof lock>[1],
): Promise<void> {
  await client.query(`begin; select pg_advisory_xact_lock(${LOCKS.space}, ${LOCKS[what]})`)
}

/** Runs `work` in a transaction that no other process can run at the same time. */
export async function withLock(
  client: Queries,
  what: Parameters<typeof lock>[1],
  work: () => Promise<void>,
): Promise<void> {
  await client.query('begin')
  try {
    await lock(client, what)
    await work()
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}
