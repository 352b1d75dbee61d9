import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Names } from './names.ts'

describe('tool names that model APIs would reject', () => {
  it('are shortened, and resolved again', () => {
    const names = new Names(['files', 'search'], true)
    const name = `read ${'x'.repeat(80)}`
    const short = names.forClient('tool', 1, name)
    assert.match(short, /^[A-Za-z0-9_-]{1,64}$/)
    assert.deepEqual(names.fromClient('tool', short), { server: 1, name })
  })

  it('of a server that keeps listing new ones are evicted', () => {
    const names = new Names(['files', 'search'], true)
    const first = names.forClient('tool', 0, 'tool 0')
    for (let i = 1; i <= 25_000; i++) names.forClient('tool', 0, `tool ${i}`)
    // It is then looked up in the lists of the servers.
    assert.equal(names.isShortened(first), true)
    const last = names.forClient('tool', 0, 'tool 25000')
    assert.equal(names.isShortened(last), false)
  })
})
