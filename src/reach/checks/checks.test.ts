// Diagnostics do not depend on the format of a configuration: only the place differs.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Model } from '../../model/model.ts'
import { runToCompletion } from '../../model/steps.ts'
import { loadText } from '../../sources/file/load.ts'
import type { Draft } from './draft.ts'
import { checkDraft } from './index.ts'
import { ObjectPlace } from './place.ts'

interface Objects {
  readonly gateways?: readonly Fields[]
  readonly routes?: readonly Fields[]
  readonly tcpRoutes?: readonly Fields[]
  readonly backends?: readonly Fields[]
  readonly policies?: readonly Fields[]
}

type Fields = Readonly<Record<string, unknown>>

const kindOf = (kind: string, { name }: Fields) => `${kind} default/${String(name)}`

/** Objects as a source without files would read them. */
function draftOf(objects: Objects): Draft {
  const { gateways = [], routes = [], tcpRoutes = [], backends = [], policies = [] } = objects
  const at = (kind: string, value: Fields, number: number) =>
    new ObjectPlace(`${kindOf(kind, value)} ${number}`, '', value)
  const references: Draft['references'][number][] = []
  const routeOf = (kind: string, isRouted: boolean) => (value: Fields, number: number) => {
    const place = at(kind, value, number)
    const { name, gateways: parents = ['default'], hostnames = [], backends: refs = [] } = value
    const list = refs as readonly { readonly backend: string }[]
    for (const [index, { backend }] of list.entries()) {
      references.push({ backend, isRouted, place: place.find(['backends', index, 'backend']) })
    }
    const action = {
      kind: 'forward',
      backends: list.map((ref) => ({ ...ref, weight: 1, policies: [] })),
    }
    const rule = { name, matches: [], policies: [], action, origin: place.origin }
    const thing = {
      name,
      origin: place.origin,
      parents: (parents as readonly string[]).map((gateway) => ({ gateway })),
      hostnames,
      policies: [],
      ...(isRouted ? { rules: [rule] } : { action }),
    }
    return { thing, place }
  }
  const draft = {
    gateways: gateways.map((value, number) => {
      const place = at('Gateway', value, number)
      const { name, port, listeners = [{ name: 'default', protocol: 'HTTP' }] } = value
      const all = (listeners as readonly Fields[]).map((listener) => {
        return { protocol: 'HTTP', port, policies: [], origin: place.origin, ...listener }
      })
      return { thing: { name, origin: place.origin, listeners: all, policies: [] }, place }
    }),
    routes: routes.map(routeOf('HTTPRoute', true)),
    tcpRoutes: tcpRoutes.map(routeOf('TCPRoute', false)),
    backends: backends.map((value, number) => {
      const place = at('Backend', value, number)
      const thing = { kind: 'host', endpoints: [], policies: [], origin: place.origin, ...value }
      return { thing, place }
    }),
    targeted: policies.map((value, number) => {
      const whole = at('ProxyPolicy', value, number)
      const { name, target } = value as { name: string; target: Record<string, string> }
      const [[noun, named] = []] = Object.entries(target)
      return { name, noun, target: named, policies: [], whole, place: whole.find(['target']) }
    }),
    frontend: [],
    references,
    reservedPorts: new Map([[15_000, 'config.adminAddr']]),
    resolvesServices: true,
  }
  return draft as unknown as Draft
}

function check(objects: Objects): { readonly model: Model; readonly said: readonly Diagnostic[] } {
  const said: Diagnostic[] = []
  const model = runToCompletion(checkDraft(draftOf(objects), (one) => void said.push(one)))
  return { model, said }
}

/** The same objects as a file. */
function fileOf({ gateways = [], ...rest }: Objects): string {
  const named = gateways.map(({ name, ...gateway }) => [name, gateway])
  const backends = rest.backends?.map(({ name }) => ({ name, host: 'a:1' }))
  const policies = rest.policies?.map((policy) => ({ ...policy, traffic: {} }))
  return JSON.stringify({ ...rest, gateways: Object.fromEntries(named), backends, policies })
}

const words = ({ code, severity, message, hint }: Diagnostic) =>
  `${severity} ${code}: ${message} (${hint})`

const up = { name: 'up' }
const to = (backend: string) => [{ backend }]
const web = { name: 'default', port: 8080 }

const CASES: readonly (readonly [what: string, objects: Objects, places: readonly string[]])[] = [
  [
    'nothing is wrong',
    { gateways: [web], routes: [{ name: 'a', backends: to('up') }], backends: [up] },
    [],
  ],
  [
    'two routes of one name',
    {
      gateways: [web],
      routes: [
        { name: 'a', backends: to('up') },
        { name: 'a', backends: to('up') },
      ],
      backends: [up],
    },
    ['HTTPRoute default/a 1 name'],
  ],
  [
    'two backends and two policies of one name',
    {
      gateways: [web],
      routes: [{ name: 'a', backends: to('up') }],
      backends: [up, up],
      policies: [
        { name: 'p', target: { route: 'a' } },
        { name: 'p', target: { route: 'a' } },
      ],
    },
    ['Backend default/up 1 name', 'ProxyPolicy default/p 1 name'],
  ],
  [
    'a port of another gateway, and one of the process',
    { gateways: [web, { name: 'b', port: 8080 }, { name: 'c', port: 15_000 }] },
    ['Gateway default/b 1 port', 'Gateway default/c 2 port'],
  ],
  [
    'listeners of one hostname',
    {
      gateways: [
        {
          name: 'default',
          port: 8080,
          listeners: [
            { name: 'x', hostname: 'a.test' },
            { name: 'y', hostname: 'a.test' },
          ],
        },
      ],
    },
    ['Gateway default/default 0 listeners[1].hostname'],
  ],
  [
    'a backend that is not there',
    {
      gateways: [web],
      routes: [{ name: 'a', backends: to('upp') }],
      tcpRoutes: [],
      backends: [up],
    },
    ['HTTPRoute default/a 0 backends[0].backend'],
  ],
  [
    'gateways and listeners that are not there',
    {
      gateways: [web],
      routes: [
        { name: 'a', gateways: ['defualt'], backends: to('up') },
        { name: 'b', gateways: ['default', 'default/none'], backends: to('up') },
      ],
      backends: [up],
    },
    ['HTTPRoute default/a 0 gateways[0]', 'HTTPRoute default/b 1 gateways[1]'],
  ],
  [
    'a route that no listener can serve, and one that none of its names reaches',
    {
      gateways: [{ name: 'default', port: 8080, listeners: [{ name: 'x', hostname: 'a.test' }] }],
      routes: [{ name: 'a', hostnames: ['b.test'], backends: to('up') }],
      tcpRoutes: [{ name: 't', backends: to('up') }],
      backends: [up],
    },
    ['HTTPRoute default/a 0 ', 'TCPRoute default/t 0 '],
  ],
  [
    'targets that are not there',
    { gateways: [web], policies: [{ name: 'p', target: { gateway: 'defualt' } }] },
    ['ProxyPolicy default/p 0 target'],
  ],
  [
    'a route without a backend',
    { gateways: [web], routes: [{ name: 'a' }, { name: 'b', backends: [] }] },
    ['HTTPRoute default/a 0 ', 'HTTPRoute default/b 1 backends'],
  ],
]

describe('checks of a draft', () => {
  for (const [what, objects, places] of CASES) {
    it(`objects are told what a file is told: ${what}`, () => {
      const { said } = check(objects)
      const { diagnostics } = loadText(fileOf(objects), 'x.yaml', { environment: {} }).result
      assert.deepEqual(said.map(words).sort(), diagnostics.map(words).sort())
      const found = said.map(({ origin }) =>
        origin.kind === 'object' ? `${origin.object} ${origin.field}` : 'file',
      )
      assert.deepEqual(found.sort(), places.toSorted())
    })
  }

  it('invalid parts fail closed, with their errors', () => {
    const { model, said } = check({
      gateways: [web, { name: 'b', port: 8080 }],
      routes: [
        { name: 'a', backends: to('down') },
        { name: 'a', backends: to('up') },
      ],
      backends: [up],
    })
    assert.deepEqual(
      model.gateways.map(({ listeners }) => listeners.map(({ protocol }) => protocol)),
      [['HTTP'], ['Invalid']],
    )
    assert.deepEqual(
      model.routes.map(({ name, rules }) => `${name} ${rules[0]?.action.kind}`),
      ['a forward', 'a#2 invalid'],
    )
    assert.deepEqual(
      model.backends.map(({ name, kind }) => `${name} ${kind}`),
      ['up host', 'down invalid'],
    )
    const text = JSON.stringify(model)
    for (const { message } of said) assert.ok(text.includes(JSON.stringify(message)), message)
  })
})
