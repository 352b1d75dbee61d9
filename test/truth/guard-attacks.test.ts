import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Addresses, AttackedServices } from './attacked-services.ts'
import type { Tree } from './document.ts'
import {
  agent,
  call,
  type File,
  host,
  models,
  routed,
  rules,
  toAgent,
  toolCall,
  tools,
} from './protocol-attacks.ts'
import { runTools } from './tools.ts'
import type { Request } from './wire.ts'
import { isAdmitted } from './wire.ts'

/** Rules that every request of the protocol satisfies: they deny none. */
const provider = (place: Addresses, name: string, index: number, require: string): Tree => ({
  ...{ name, provider: { openAI: {} }, hostOverride: host(place, index) },
  policies: rules({ require }),
})
const PAIRED = ["request.method == 'GET'", "request.method != 'GET'"] as const
const SIGN_IN: Tree = {
  ...{ issuer: 'https://login.example.com', clientId: 'c', mode: 'Optional' },
  redirectUri: 'https://a.test/oauth2/callback',
  cookieSecret: '0'.repeat(64),
}

const TAUTOLOGIES: readonly (readonly [string, File, Partial<Request>])[] = [
  ...[
    "mcp.methodName != ''",
    "mcp.methodName.startsWith('') || mcp.tool.name == 'a'",
    'has(mcp.tool) || !has(mcp.tool)',
    '!has(mcp.tool) || mcp.tool.name == mcp.tool.name',
    "!has(mcp.tool) || mcp.tool.target == 'one'",
  ].map((allow): readonly [string, File, Partial<Request>] => [
    allow,
    (place) => routed(tools(place, {}, { mcpAuthorization: { rules: [{ allow }] } })),
    toolCall('read'),
  ]),
  [
    'every binding of agents',
    (place) => routed(agent(place, { allow: "a2a.binding in ['JSONRPC', 'HTTP+JSON']" })),
    toAgent('tasks/get'),
  ],
  [
    'of two providers each admits what the other denies',
    (place) =>
      routed({
        ai: {
          groups: PAIRED.map((text, index) => ({
            providers: [provider(place, `p${index}`, index, text)],
          })),
        },
      }),
    call('m'),
  ],
  [
    'of two models that a third name leads to each admits what the other denies',
    (place) => ({
      llm: {
        gateways: 'default',
        models: PAIRED.map((require, index) => ({
          ...{ name: `m${index}`, visibility: 'internal', provider: 'openAI' },
          params: { hostOverride: host(place, index) },
          ...rules({ require }),
        })),
        virtualModels: [
          {
            name: 'm',
            routing: {
              failover: { targets: [0, 1].map((at) => ({ model: `m${at}`, priority: at })) },
            },
          },
        ],
      },
    }),
    call('m'),
  ],
  [
    'a page of sign-in, which the gateway serves itself',
    (place) =>
      routed(
        { host: host(place) },
        { oidc: SIGN_IN, ...rules({ require: "request.path != '/oauth2/login'" }) },
      ),
    {},
  ],
  ...[guards('Mask'), guards('Reject')].map(
    (policies): readonly [string, File, Partial<Request>] => [
      `a guard of words that nobody said: ${JSON.stringify(policies)}`,
      (place) => routed(models(place, { policies })),
      call('m'),
    ],
  ),
  [
    'every model',
    (place) =>
      routed(models(place, { policies: rules({ require: 'size(llm.requestModel) >= 0' }) })),
    call('m'),
  ],
  [
    'every call to the only provider',
    (place) => routed(models(place, { policies: rules({ allow: "llm.provider == 'one'" }) })),
    call('m'),
  ],
]

function guards(action: string): Tree {
  return { guardrails: { request: [{ regex: { action, rules: [{ pattern: 'secret' }] } }] } }
}

describe('rules that deny no requests', () => {
  let attacked: AttackedServices
  before(async () => {
    attacked = await AttackedServices.open()
  })
  after(() => attacked.close())

  for (const [name, file, request] of TAUTOLOGIES) {
    it(`guard nothing: ${name}`, async () => {
      const { world, addresses } = attacked
      const tree: Tree = attacked.fileOf(file(addresses))
      const path = world.write('guards.yaml', tree)
      assert.equal(await world.serve(path), undefined)
      const isMcp = JSON.stringify(tree).includes('"targets"')
      const usual = { method: 'GET', target: '/', version: '1.1', host: 'a.test' } as const
      const probe = {
        transport: { port: addresses.port },
        request: { ...usual, headers: [], ...request },
      }
      const served = isMcp
        ? [await attacked.message(request)]
        : (await world.send([probe])).map(isAdmitted)
      assert.deepEqual(served, [true])
      const { out } = await runTools(['effective', path, '--json'])
      const { listeners } = JSON.parse(out)
      const [{ protection, backends }] = listeners[0].routes
      assert.notEqual(protection, 'guarded')
      const named = (backends[0].models ?? []) as readonly { readonly protection: string }[]
      for (const one of named) assert.notEqual(one.protection, 'guarded')
    })
  }

  it('except one that denies a tool', async () => {
    const { world, addresses } = attacked
    const policies = { mcpAuthorization: { rules: [{ allow: "mcp.tool.name == 'read'" }] } }
    const tree = attacked.fileOf(routed(tools(addresses, {}, policies)))
    const { out } = await runTools(['effective', world.write('guards.yaml', tree), '--json'])
    assert.equal(JSON.parse(out).listeners[0].routes[0].protection, 'guarded')
  })
})
