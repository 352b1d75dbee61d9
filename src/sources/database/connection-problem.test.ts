import assert from 'node:assert/strict'
import { connect, type NetConnectOpts } from 'node:net'
import { describe, it } from 'node:test'
import { connectionProblem } from './connection-problem.ts'

const failure = (options: NetConnectOpts) =>
  new Promise<unknown>((resolve) => void connect(options).on('error', resolve))

describe('database connection errors', () => {
  it('name a missing socket', async () => {
    const problem = connectionProblem(await failure({ path: '/nonexistent/.s.PGSQL.5432' }))
    assert.equal(problem, 'no such file or directory (/nonexistent/.s.PGSQL.5432)')
  })

  it('name the address that rejects the connection', async () => {
    const problem = connectionProblem(await failure({ port: 1, host: '127.0.0.1' }))
    assert.equal(problem, 'connection refused (127.0.0.1:1)')
  })

  it('name the first of several addresses', async () => {
    const error = new AggregateError([await failure({ port: 1, host: '127.0.0.1' })], '')
    assert.equal(connectionProblem(error), 'connection refused (127.0.0.1:1)')
  })

  it('keep the message of PostgreSQL', () => {
    const error = new Error('password authentication failed for user "a"')
    assert.equal(connectionProblem(error), error.message)
    assert.equal(connectionProblem(new Error('')), 'it failed')
  })
})
