import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Addresses, AttackedServices } from './attacked-services.ts'
import { CALL_OUT_ATTACKS } from './call-out-attacks.ts'
import type { Tree } from './document.ts'
import { FRONTEND_ATTACKS } from './frontend-attacks.ts'
import { sessionCookie } from './gateways.ts'
import { POLICY_ATTACKS } from './policy-attacks.ts'
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

const plain = (policies: Tree = {}): File => {
  return (place) => routed({ host: host(place) }, { ...rules(ANY), ...policies })
}
const guarded = (pattern: string): File => {
  const guardrails = { request: [{ regex: { action: 'Reject', rules: [{ pattern }] } }] }
  return (place) => routed(models(place, { policies: { guardrails, ...rules(ANY) } }))
}
const signed = (mode: string, sub: string): File =>
  plain({ oidc: { ...SIGN_IN, mode }, ...rules({ allow: `jwt.sub == '${sub}'` }) })

/** The same for services, guards and sessions. */
const SERVICE_ATTACKS: readonly ReplayAttack[] = [
  {
    name: 'a processor is asked from now on',
    old: plain(),
    now: (place) => plain({ extProc: { host: place.processor } })(place),
    request: {},
  },
  {
    name: 'a service that counts is asked from now on',
    old: plain(),
    now: (place) =>
      plain({
        remoteRateLimit: {
          ...{ host: place.limiter, domain: 'd', failureMode: 'Deny' },
          descriptors: [{ entries: [{ key: 'k', value: "'v'" }] }],
        },
      })(place),
    request: {},
  },
  {
    name: 'a service is asked from now on',
    old: plain(),
    now: (place) => plain({ extAuthz: { host: place.rejecting, protocol: { http: {} } } })(place),
    request: {},
  },
  {
    name: 'a guard rejects what it did not',
    old: guarded('y'),
    now: guarded('x'),
    request: call('m'),
  },
  {
    name: 'a webhook is asked from now on',
    old: (place) => routed(models(place, { policies: rules(ANY) })),
    now: (place) => {
      const guardrails = { request: [{ webhook: { target: { host: place.rejecting } } }] }
      return routed(models(place, { policies: { guardrails, ...rules(ANY) } }))
    },
    request: call('m'),
  },
  {
    name: 'a rule is about somebody else who is signed in',
    old: signed('Strict', 'alice'),
    now: signed('Strict', 'bob'),
    request: { session: '{"sub":"alice"}' },
  },
  {
    name: 'the pages of sign-in are where there was another one',
    old: plain({ oidc: { ...SIGN_IN, mode: 'Optional' } }),
    now: plain({
      oidc: { ...SIGN_IN, mode: 'Optional', redirectUri: 'https://a.test/app/callback' },
    }),
    request: { target: '/app/login' },
  },
  {
    name: 'calls to models are counted from now on, and it is none',
    old: (place) => routed(models(place), rules(ANY)),
    now: (place) =>
      routed(models(place), { ...rules(ANY), budgets: [{ requests: 1_000_000, per: 'Day' }] }),
    request: {},
  },
  {
    name: 'of two providers the other one denies',
    old: (place) => twoProviders(place, ANY),
    now: (place) => twoProviders(place, { deny: 'true' }),
    request: call('m'),
  },
]

function twoProviders(place: Addresses, rule: Tree): Tree {
  const one = (name: string, index: number, own: Tree): Tree => ({
    ...{ name, provider: { openAI: {} }, hostOverride: host(place, index) },
    policies: rules(own),
  })
  const denied = one('a', 0, { deny: "request.method == 'POST'" })
  return routed({ ai: { groups: [{ providers: [denied] }, { providers: [one('b', 1, rule)] }] } })
}

/** Each request of the policy attacks, with a rule that causes its record. */
const POLICIES: readonly ReplayAttack[] = [
  ...CALL_OUT_ATTACKS,
  ...POLICY_ATTACKS,
  ...FRONTEND_ATTACKS,
]
  // Counters live on from one file to the other.
  .filter(({ name }) => !/limit|enough/.test(name))
  .flatMap(({ name, old, now, requests }) =>
    requests.map((request, index) => ({
      name: `${name}: request ${index}`,
      ...{ old: recorded(old), now: recorded(now), request },
    })),
  )

function recorded(file: File): File {
  return (place) => {
    const tree = file(place)
    const text = JSON.stringify(tree)
    if (text.includes('"authorization"') || text.includes('"tcpRoutes"')) return tree
    return { ...tree, gateways: { default: { port: place.port, policies: rules(ANY) } } }
  }
}

describe('attacks on statements about recorded requests', () => {
  let attacked: AttackedServices
  before(async () => {
    attacked = await AttackedServices.open()
  })
  after(() => attacked.close())

  for (const { name, old, now, request } of [...ATTACKS, ...SERVICE_ATTACKS, ...POLICIES]) {
    it(name, async () => {
      const { world, addresses } = attacked
      const { sni, session, key: _, user: __, isHttp2, ...rest } = request
      const cookies = session === undefined ? [] : [sessionCookie(session)]
      const own = { ...rest, headers: [...(rest.headers ?? []), ...cookies] }
      const usual = { method: 'GET', target: '/', version: '1.1', headers: [] } as const
      const spoken = { ...(sni === undefined ? {} : { tls: { sni } }), ...(isHttp2 && { isHttp2 }) }
      const transport = { port: addresses.port, ...spoken }
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
      // No rule decided about it.
      if (records.length === 0) return
      const args = ['--decisions', decisions, '--old', files.old, '--new', files.now, '--json']
      const { out, err } = await runTools(['replay', ...args])
      assert.equal(err, '')
      const { unchanged, changed } = JSON.parse(out)
      if (was === is) assert.deepEqual(changed, [])
      else assert.equal(unchanged, 0)
    })
  }
})
