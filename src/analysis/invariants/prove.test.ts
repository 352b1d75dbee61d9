import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hypotheticalOf } from '../../cli/diff.ts'
import { openVerdicts } from '../../cli/verdicts.ts'
import type { Model } from '../../model/model.ts'
import { loadText } from '../../sources/file/load.ts'
import { prove } from './prove.ts'
import type { InvariantScope } from './scope.ts'

const CONFIG = {
  gateways: { web: { port: 4000 }, inside: { port: 4001 } },
  routes: [
    {
      name: 'direct',
      matches: [{ path: { pathPrefix: '/direct' } }],
      gateways: ['web'],
      policies: {
        authorization: { rules: [{ deny: "request.method == 'PUT'" }] },
        directResponse: {
          conditional: [{ condition: "request.path == '/direct/now'", status: 200, body: 'hello' }],
        },
      },
      backends: [{ backend: 'one' }],
    },
    {
      name: 'shared',
      matches: [{ path: { pathPrefix: '/shared' } }],
      gateways: ['web', 'inside'],
      backends: [{ backend: 'one' }, { backend: 'two' }],
    },
    {
      name: 'read',
      matches: [{ path: { pathPrefix: '/read' } }],
      gateways: ['inside'],
      policies: { authorization: { rules: [{ require: "request.method == 'GET'" }] } },
      backends: [{ backend: 'two' }],
    },
  ],
  backends: [
    { name: 'one', host: '127.0.0.1:80' },
    {
      name: 'two',
      host: '127.0.0.1:81',
      policies: { authorization: { rules: [{ deny: "request.method == 'POST'" }] } },
    },
  ],
}

const { value: MODEL } = loadText(JSON.stringify(CONFIG), 'a.yaml', { environment: {} }).result

function open(model: Model) {
  const verdicts = openVerdicts(model)
  return {
    decide: (one: Parameters<typeof hypotheticalOf>[0]) =>
      verdicts.decide(hypotheticalOf(one), one.isConnection),
    close: () => verdicts.close(),
  }
}

const NOT_POST = "request.method != 'POST'"
const NOT_PUT = "request.method != 'PUT'"
const READ = "request.method == 'GET'"

describe('an invariant', () => {
  for (const [title, on, when, admitted, kind] of [
    [
      'holds for responses of the gateway itself',
      { route: 'direct' },
      undefined,
      NOT_PUT,
      'proven',
    ],
    ['is broken by them', { route: 'direct' }, undefined, NOT_POST, 'refuted'],
    [
      'is not known for them if it reads the backend',
      { route: 'direct' },
      undefined,
      "backend.name == 'one'",
      'not known',
    ],
    ['covers one of two backends of a route', { backend: 'two' }, undefined, NOT_POST, 'proven'],
    ['covers the other backend', { backend: 'one' }, undefined, NOT_POST, 'refuted'],
    ['covers every route of a backend', { backend: 'two' }, undefined, READ, 'refuted'],
    [
      'covers a route and a backend together',
      { route: 'read', backend: 'two' },
      undefined,
      READ,
      'proven',
    ],
    ['covers a route', { route: 'read' }, undefined, READ, 'proven'],
    ['covers a gateway', { listener: 'inside' }, undefined, READ, 'refuted'],
    [
      'covers requests for which its condition is true',
      { listener: 'inside' },
      "request.path.startsWith('/read')",
      READ,
      'proven',
    ],
    ['covers a whole configuration', {}, "request.path == '/direct/now'", NOT_PUT, 'proven'],
    ['covers no request that is admitted', {}, "request.path == '/none'", 'false', 'proven'],
    [
      'covers nothing if no route matches',
      { route: 'read' },
      "request.host == ''",
      'true',
      'proven',
    ],
  ] as readonly (readonly [string, InvariantScope, string | undefined, string, string])[]) {
    it(`${title}: ${kind}`, () => {
      const origin = { kind: 'object', object: 'invariant', field: '' } as const
      const proof = prove(MODEL as Model, { name: 'it', origin, on, when, admitted }, open)
      assert.equal(proof.kind, kind, JSON.stringify(proof))
    })
  }
})
