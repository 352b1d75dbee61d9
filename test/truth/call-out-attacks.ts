import type { Addresses } from './attacked-services.ts'
import type { Tree } from './document.ts'
import { marked, POST, type PolicyAttack, pair, plain } from './policy-attacks.ts'
import {
  call,
  type File,
  host,
  models,
  routed,
  rules,
  type SentRequest,
} from './protocol-attacks.ts'

/*
 * The same for services that are called about a request: over gRPC, for an endpoint, or in a cloud.
 */

const UNREACHABLE = '127.0.0.1:9'
const SAID_NO: SentRequest = { headers: [['x-say', 'no']] }

const authorized =
  (more: Tree, ...own: readonly Tree[]): File =>
  (place) =>
    routed(
      { host: host(place) },
      { extAuthz: { host: place.authorizer, ...more }, ...(own.length > 0 && rules(...own)) },
    )
const AUTHORIZED: readonly PolicyAttack[] = [
  pair('a service authorizes by gRPC from now on', plain({}), authorized({}), [SAID_NO, {}]),
  pair(
    'a rule reads another role of the service',
    authorized({}, { require: "extauthz.role == 'a'" }),
    authorized({}, { require: "extauthz.role == 'b'" }),
    [{}, SAID_NO],
  ),
  pair(
    'a rule about a role of the service goes',
    authorized({}, { deny: "extauthz.role == 'a'" }),
    authorized({}),
    [{}, SAID_NO],
  ),
  pair(
    'a rule needs what the service may not say',
    authorized({}, { deny: '!has(extauthz.role)' }),
    authorized({}, { deny: 'has(extauthz.role)' }),
    [{}],
  ),
  pair(
    'a service that cannot be reached lets all pass',
    authorized({ host: UNREACHABLE, failureMode: 'Deny' }),
    authorized({ host: UNREACHABLE, failureMode: 'Allow' }),
  ),
  pair(
    'another status is no other decision',
    authorized({ host: UNREACHABLE, failureMode: 'Deny' }),
    authorized({ host: UNREACHABLE, failureMode: { denyWithStatus: 503 } }),
  ),
  pair('a service says a header that cannot be written', authorized({}), (place) =>
    authorized({ host: place.unwritable })(place),
  ),
  pair(
    'a body is too long to be shown',
    authorized({}),
    authorized({ includeRequestBody: { maxRequestBytes: 10 } }),
    [POST, {}],
  ),
  pair(
    'the service is not told what it decides by',
    authorized({}),
    authorized({ includeRequestHeaders: ['x-other'] }),
    [SAID_NO, {}],
  ),
  pair(
    'a service of the backend authorizes',
    plain({}),
    (place) =>
      routed({ host: host(place), policies: { extAuthz: { host: place.authorizer } } }, {}),
    [SAID_NO, {}],
  ),
  pair(
    'entries of a service change places',
    (place) =>
      routed(
        { host: host(place) },
        {
          extAuthz: {
            conditional: [
              { condition: "request.path == '/'", host: place.authorizer },
              { condition: "request.method == 'GET'", host: UNREACHABLE },
            ],
          },
        },
      ),
    (place) =>
      routed(
        { host: host(place) },
        {
          extAuthz: {
            conditional: [
              { condition: "request.method == 'GET'", host: UNREACHABLE },
              { condition: "request.path == '/'", host: place.authorizer },
            ],
          },
        },
      ),
    [{}, { target: '/b' }, { method: 'POST', target: '/b' }],
  ),
  pair(
    'a condition of a service fails, and the service is asked',
    (place) =>
      routed(
        { host: host(place) },
        { extAuthz: { conditional: [{ condition: 'false', host: place.rejecting }] } },
      ),
    (place) =>
      routed(
        { host: host(place) },
        {
          extAuthz: {
            conditional: [{ condition: "request.headers['x-a'] == '1'", host: UNREACHABLE }],
          },
        },
      ),
    [{}, marked('1'), marked('2')],
  ),
]

const picked = (more: Tree): File => {
  return (place) =>
    routed({
      host: host(place),
      policies: { inferenceRouting: { endpointPicker: { host: place.picker }, ...more } },
    })
}
const PICKED: readonly PolicyAttack[] = [
  pair('a picker may refuse from now on', plain({}), picked({}), [SAID_NO, {}]),
  pair(
    'a picker that cannot be reached is passed over',
    picked({ endpointPicker: { host: UNREACHABLE } }),
    picked({ endpointPicker: { host: UNREACHABLE }, failureMode: 'FailOpen' }),
  ),
  pair(
    'a rule goes, and a picker refuses',
    (place) => ({
      routes: [
        {
          ...((picked({})(place)['routes'] as readonly Tree[])[0] as Tree),
          policies: rules({ deny: "request.headers['x-say'] == 'no'" }),
        },
      ],
    }),
    picked({}),
    [SAID_NO, {}],
  ),
]

const guarded = (guard: (place: Addresses) => Tree, phase = 'request'): File => {
  return (place) => routed(models(place, { policies: { guardrails: { [phase]: [guard(place)] } } }))
}
const moderated =
  (more: Tree = {}) =>
  ({ rejecting }: Addresses): Tree => ({
    openAIModeration: {
      host: `http://${rejecting}`,
      policies: { backendAuth: { key: 'k' } },
      ...more,
    },
  })
const safe =
  (more: Tree = {}) =>
  ({ rejecting }: Addresses): Tree => ({
    azureContentSafety: {
      endpoint: `http://${rejecting}`,
      analyzeText: {},
      policies: { backendAuth: { key: 'k' } },
      ...more,
    },
  })
const railed =
  (more: Tree = {}) =>
  ({ rejecting }: Addresses): Tree => ({
    bedrockGuardrails: {
      ...{ guardrailIdentifier: 'g', guardrailVersion: '1', region: 'eu-central-1' },
      host: `http://${rejecting}`,
      policies: { backendAuth: { aws: { accessKeyId: 'AKIA1234', secretAccessKey: 'b' } } },
      ...more,
    },
  })
const CLOUDS: readonly PolicyAttack[] = (
  [
    ['moderation', moderated],
    ['content safety', safe],
    ['Bedrock', railed],
  ] as const
).flatMap(([name, guard]) => [
  pair(`${name} guards from now on`, (place) => routed(models(place)), guarded(guard()), [
    call('m'),
  ]),
  pair(
    `${name} that fails lets all pass`,
    guarded(guard({ failureMode: 'Deny' })),
    guarded(guard({ failureMode: 'Allow' })),
    [call('m'), { target: '/v1/files' }],
  ),
  pair(`${name} of responses`, (place) => routed(models(place)), guarded(guard(), 'response'), [
    call('m'),
    {},
  ]),
])

export const CALL_OUT_ATTACKS: readonly PolicyAttack[] = [...AUTHORIZED, ...PICKED, ...CLOUDS]
