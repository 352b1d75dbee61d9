import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ATTACKS, fileOf } from './attacks.ts'
import { World } from './gateways.ts'
import { type CheckName, judgeTrees } from './judge.ts'
import { runTools } from './tools.ts'
import { isAdmitted, type Probe } from './wire.ts'

const CHECKS: readonly CheckName[] = ['diff', 'lint', 'fix', 'effective', 'explain', 'prove']

describe('attacks on proven statements', () => {
  let world: World
  before(async () => {
    world = await World.open()
  })
  after(() => world.close())

  for (const { name, old, now, requests, isSame } of ATTACKS) {
    it(name, async () => {
      const trees = { old: fileOf(old, world.place), now: fileOf(now, world.place) }
      const port = world.place.ports[0] as number
      const probes = requests.map((request): Probe => {
        const usual = { method: 'GET', target: '/', version: '1.1', host: 'a.test' } as const
        return { transport: { port }, request: { ...usual, headers: [], ...request } }
      })
      const served = async (side: 'old' | 'now') => {
        assert.equal(await world.serve(world.write(`${side}.yaml`, trees[side])), undefined)
        return (await world.send(probes)).map(isAdmitted)
      }
      const [was, is] = [await served('old'), await served('now')]
      if (isSame) assert.deepEqual(was, is)
      else assert.notEqual(was[0], is[0])
      const options = { world, tools: runTools, count: () => {}, only: CHECKS }
      const { claims, unserved } = await judgeTrees(7, trees, options, probes)
      assert.equal(unserved, undefined)
      assert.deepEqual(claims, [])
    })
  }
})
