import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { AttackedServices } from './attacked-services.ts'
import type { Tree } from './document.ts'
import {
  call,
  type File,
  host,
  models,
  routed,
  rules,
  type SentRequest,
} from './protocol-attacks.ts'
import { leading, PASSED, streaming } from './stream-attacks.ts'
import { runTools } from './tools.ts'
import { isAdmitted } from './wire.ts'

interface ReplayAttack {
  readonly name: string
  readonly old: File
  readonly now: File
  readonly request: SentRequest
}

const ruled = (rule: Tree, more: Tree = PASSED): Tree => ({
  ...more,
  frontendPolicies: { networkAuthorization: { rules: [rule] } },
})
const ANY = { allow: 'true' }
const one: File = (place) => ({ tcpRoutes: [leading(place, 'all', undefined, 1)] })
const named = (name: string, weight: number, listener: Tree = PASSED): File => {
  return (place) =>
    streaming(
      place,
      [leading(place, 'all', '*.example.com', 1), leading(place, 'one', name, weight)],
      ruled(ANY, listener),
    )
}
const gateway = (rule: Tree, more: Tree = PASSED): File => {
  return (place) => ({
    ...one(place),
    gateways: { default: { port: place.port, ...ruled(rule, more) } },
  })
}
const CHAT_RULE = rules({ deny: "llm.requestModel == 'bad'" })
const SIGN_IN: Tree = {
  issuer: 'https://login.example.com',
  clientId: 'c',
  redirectUri: 'https://a.test/oauth2/callback',
  cookieSecret: '0'.repeat(64),
}

const ATTACKS: readonly ReplayAttack[] = [
  {
    name: 'a name leads nowhere, and was not waited for',
    old: named('a.example.com', 1),
    now: named('a.example.com', 0),
    request: { sni: 'a.example.com' },
  },
  {
    name: 'a listener is for another name, and its own was not waited for',
    old: gateway(ANY, { ...PASSED, hostname: 'a.example.com' }),
    now: gateway(ANY, { ...PASSED, hostname: 'b.example.com' }),
    request: { sni: 'a.example.com' },
  },
  {
    name: 'the first of two routes for all connections leads nowhere',
    old: (place) =>
      streaming(
        place,
        [leading(place, 'first', undefined, 1), leading(place, 'second', undefined, 1)],
        ruled(ANY, { protocol: 'TCP' }),
      ),
    now: (place) =>
      streaming(
        place,
        [leading(place, 'first', undefined, 0), leading(place, 'second', undefined, 1)],
        ruled(ANY, { protocol: 'TCP' }),
      ),
    request: {},
  },
  {
    name: 'a rule begins to read a name that was not waited for',
    old: gateway(ANY),
    now: gateway({ allow: "destination.hostname == 'a.example.com'" }),
    request: { sni: 'a.example.com' },
  },
  {
    name: 'a rule reads another name',
    old: gateway({ allow: "destination.hostname != 'b.example.com'" }),
    now: gateway({ allow: "destination.hostname != 'a.example.com'" }),
    request: { sni: 'a.example.com' },
  },
  {
    name: 'a call to a model is none without its rewritten path',
    old: (place) =>
      routed(models(place, { policies: CHAT_RULE }), {
        urlRewrite: { path: { full: '/v1/chat/completions' } },
      }),
    now: (place) => routed(models(place, { policies: CHAT_RULE })),
    request: call('m', { target: '/chat' }),
  },
  {
    name: 'nobody needs to sign in any more',
    old: (place) => routed({ host: host(place) }, { ...rules(ANY), oidc: SIGN_IN }),
    now: (place) =>
      routed({ host: host(place) }, { ...rules(ANY), oidc: { ...SIGN_IN, mode: 'Optional' } }),
    request: {},
  },
]

describe('attacks on what is said of recorded requests', () => {
  let attacked: AttackedServices
  before(async () => {
    attacked = await AttackedServices.open()
  })
  after(() => attacked.close())

  for (const { name, old, now, request } of ATTACKS) {
    it(name, async () => {
      const { world, addresses } = attacked
      const { sni, ...own } = request
      const usual = { method: 'GET', target: '/', version: '1.1', headers: [] } as const
      const transport = { port: addresses.port, ...(sni === undefined ? {} : { tls: { sni } }) }
      const probe = { transport, request: { ...usual, host: sni ?? 'a.test', ...own } }
      const served = async (file: string) => {
        assert.equal(await world.serve(file), undefined)
        return (await world.send([probe])).map(isAdmitted)[0]
      }
      const files = {
        old: world.write('old.yaml', attacked.fileOf(old(addresses))),
        now: world.write('now.yaml', attacked.fileOf(now(addresses))),
      }
      world.records.length = 0
      const was = await served(files.old)
      const records = world.records.splice(0)
      const is = await served(files.now)
      const decisions = join(world.folder, 'decisions.jsonl')
      writeFileSync(decisions, `${records.map((one) => JSON.stringify(one)).join('\n')}\n`)
      const args = ['--decisions', decisions, '--old', files.old, '--new', files.now, '--json']
      const { out, err } = await runTools(['replay', ...args])
      assert.equal(err, '')
      const { unchanged, changed } = JSON.parse(out)
      if (was === is) assert.deepEqual(changed, [])
      else assert.equal(unchanged, 0)
    })
  }
})
