import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readA2a } from './message.ts'

function read(verb: string, path: string) {
  return readA2a({ verb, path, search: '', body: undefined, header: () => undefined })
}

describe('agent paths', () => {
  it('of cards are recognized as common servers do', () => {
    for (const path of [
      '/.well-known/agent-card.json',
      '/a/.well-known/agent.json',
      '/.well-known/agent-card.json/',
      '/.WELL-KNOWN/Agent-Card.json',
      '/%2ewell-known/agent-card%2Ejson',
    ]) {
      const { card } = read('GET', path) as { readonly card?: string }
      assert.equal(card, 'body', path)
    }
  })

  it('with an encoded slash are rejected: the agent may see another call than the rules', () => {
    for (const [verb, path] of [
      ['GET', '/tasks/a%2Fb'],
      ['GET', '/tasks/a%2fb'],
      ['GET', '/tasks%5Ca'],
      ['DELETE', '/tasks/a/pushNotificationConfigs/c%2Fd'],
    ] as const) {
      const outcome = read(verb, path)
      assert.ok('rejected' in outcome && outcome.status === 400, path)
    }
  })
})
