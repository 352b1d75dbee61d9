import pg from 'pg'

/**
 * Connections to PostgreSQL that may break at any time without a word to the process. One that
 * nobody uses is replaced when the next is needed; whoever uses one is told by its next statement.
 */
export function openPool(options: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({ ...options, allowExitOnIdle: true })
  pool.on('error', () => {})
  // While one is in use the pool does not listen to it, and between two statements nobody does.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
