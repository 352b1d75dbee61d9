import pg from 'pg'

/**
 * Opens a pool of PostgreSQL connections. A connection may break at any time without an event: a
 * broken idle connection is replaced when one is next needed, and a broken connection in use fails
 * its next statement.
 */
export function openPool(options: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({ ...options, allowExitOnIdle: true })
  pool.on('error', () => {})
  // The pool does not listen for errors while a connection is in use, and between two statements no
  // other code does.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
