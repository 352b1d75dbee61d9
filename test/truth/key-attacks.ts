import type { Tree } from './document.ts'
import { API_KEY } from './generate.ts'
import { call, host, models, type ProtocolAttack, routed, rules } from './protocol-attacks.ts'

/* The same for keys: their permissions, their expiry, and their metadata. */

/** printf %s robot-key | sha256sum */
const HASH = 'sha256:b2cfb5518f033861ee2dd12be0f7c0b95c23d0b8d1f4c32c8a788f77bc8a52be'
const OTHER_HASH = `sha256:${'0'.repeat(64)}`
const keyed = (more: Tree, metadata: Tree = { team: 'eng' }): Tree => ({
  apiKey: {
    location: { header: { name: 'x-api-key' } },
    keys: [
      { keyHash: HASH, metadata, ...more },
      { keyHash: OTHER_HASH, metadata: { team: 'other' } },
    ],
  },
})
const EXPIRED = keyed({ expires: '2020-01-01T00:00:00Z' })
const ENGINEER = { apiKey: API_KEY, key: { team: 'eng' } }
const BY_KEY = { apiKey: API_KEY, key: { team: 'eng', allowedModels: ['n'] } }
const denyingModel = (name: string) => rules({ deny: `llm.requestModel == '${name}'` })

export const KEY_ATTACKS: readonly ProtocolAttack[] = [
  {
    name: 'a rule goes that only a key which has expired could meet',
    old: (place) =>
      routed({ host: host(place) }, { ...EXPIRED, ...rules({ deny: "apiKey.team == 'eng'" }) }),
    now: (place) => routed({ host: host(place) }, EXPIRED),
    requests: [{ apiKey: API_KEY }],
    isSame: true,
  },
  {
    name: 'a rule goes about a model that the key may not use',
    old: (place) =>
      routed(models(place, { policies: denyingModel('m') }), keyed({ allowedModels: ['n'] })),
    now: (place) =>
      routed(models(place, { policies: denyingModel('o') }), keyed({ allowedModels: ['n'] })),
    requests: [call('m', BY_KEY), call('n', BY_KEY)],
    isSame: true,
  },
  {
    name: 'a key may use another model',
    old: (place) => routed(models(place), keyed({ allowedModels: ['m'] })),
    now: (place) => routed(models(place), keyed({ allowedModels: ['n'] })),
    requests: [call('m', { apiKey: API_KEY })],
    isOfKeys: true,
  },
  {
    name: 'metadata of a key that is called like what has no meaning',
    old: (place) =>
      routed(
        { host: host(place) },
        { ...keyed({}, { origin: 'us' }), ...rules({ allow: "apiKey.origin == 'us'" }) },
      ),
    now: (place) =>
      routed(
        { host: host(place) },
        { ...keyed({}, { origin: 'eu' }), ...rules({ allow: "apiKey.origin == 'us'" }) },
      ),
    requests: [{ apiKey: API_KEY }],
    isOfKeys: true,
  },
  {
    name: 'a rule about a team goes, and somebody is in it',
    old: (place) =>
      routed({ host: host(place) }, { ...keyed({}), ...rules({ deny: "apiKey.team == 'eng'" }) }),
    now: (place) => routed({ host: host(place) }, keyed({})),
    requests: [ENGINEER],
  },
]
