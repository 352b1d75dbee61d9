import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { AttackedServices } from './attacked-services.ts'
import type { Tree } from './document.ts'
import {
  agent,
  call,
  type File,
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

/** Rules that everything satisfies which its protocol serves: nobody is kept out by them. */
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

describe('rules that keep nobody out', () => {
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
      assert.notEqual(listeners[0].routes[0].protection, 'guarded')
    })
  }

  it('but one that denies a tool does', async () => {
    const { world, addresses } = attacked
    const policies = { mcpAuthorization: { rules: [{ allow: "mcp.tool.name == 'read'" }] } }
    const tree = attacked.fileOf(routed(tools(addresses, {}, policies)))
    const { out } = await runTools(['effective', world.write('guards.yaml', tree), '--json'])
    assert.equal(JSON.parse(out).listeners[0].routes[0].protection, 'guarded')
  })
})
