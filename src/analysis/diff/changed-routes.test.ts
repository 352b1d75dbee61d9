import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Model } from '../../model/model.ts'
import { loadText } from '../../sources/file/load.ts'
import { changedRoutes } from './changed-routes.ts'
import { compareModels } from './compare.ts'
import { waysThrough } from './entries.ts'

interface Written {
  readonly count?: number
  readonly rule?: string
  readonly path?: string
  readonly above?: string
  readonly backend?: string
  /** Host of one more route, at the front. */
  readonly first?: string
  readonly removed?: string
}

function model(written: Written = {}): Model {
  const { count = 3, rule = "request.path == '/1/a'", path, above, first, removed } = written
  const guard = (allow: string) => ({ authorization: { rules: [{ allow }] } })
  const routes = Array.from({ length: count }, (_, index) => ({
    name: `r${index}`,
    hostnames: [`h${index}.example.com`],
    matches: [{ path: { pathPrefix: index === 1 && path ? path : `/${index}` } }],
    policies: guard(index === 1 ? rule : `request.path == '/${index}/a'`),
    backends: [index === 1 && written.backend ? { host: written.backend } : { host: 'a:80' }],
  }))
  const more = first !== undefined && {
    ...(routes[0] as (typeof routes)[0]),
    ...{ name: 'first', hostnames: [first], matches: [{ path: { pathPrefix: '/' } }] },
    backends: [{ host: 'first:80' }],
  }
  const text = JSON.stringify({
    gateways: { default: { port: 8080, ...(above && { policies: guard(above) }) } },
    routes: [...(more ? [more] : []), ...routes.filter(({ name }) => name !== removed)],
  })
  const { value } = loadText(text, 'gateway.yaml', { environment: {} }).result
  assert.ok(value !== undefined)
  return value
}

function changed(before: Model, after: Model) {
  const { moved, compared } = changedRoutes(before, after) ?? {}
  return { moved: [...(moved ?? [])], compared: [...(compared ?? [])].sort() }
}

describe('the routes that a change concerns', () => {
  it('are none for equal Models, wherever they are written', () => {
    assert.deepEqual(changed(model(), model()), { moved: [], compared: [] })
  })

  it('are those whose policies differ, which receive the same requests', () => {
    assert.deepEqual(changed(model(), model({ rule: 'true' })), { moved: [], compared: ['r1'] })
  })

  it('are those that lead to a backend which differs or is new', () => {
    const other = model({ backend: 'b:80' })
    assert.deepEqual(changed(model(), other), { moved: [], compared: ['r1'] })
    const { backends, ...rest } = model()
    const policies = model({ above: 'true' }).gateways.flatMap((gateway) => gateway.policies)
    const guarded = { ...rest, backends: backends.map((one) => ({ ...one, policies })) }
    assert.deepEqual(changed(model(), guarded).compared, ['r0', 'r1', 'r2'])
  })

  it('are those that match other requests, are new or are gone', () => {
    for (const [other, name] of [
      [{ path: '/x' }, 'r1'],
      [{ count: 4 }, 'r3'],
      [{ removed: 'r0' }, 'r0'],
      [{ first: 'first.example.com' }, 'first'],
    ] as const) {
      assert.deepEqual(changed(model(), model(other)), { moved: [name], compared: [name] })
      assert.deepEqual(changed(model(other), model()), { moved: [name], compared: [name] })
    }
  })

  it('include routes that may receive requests of those', () => {
    const names = ['first', 'r0', 'r1', 'r2']
    assert.deepEqual(changed(model(), model({ first: '*.example.com' })).compared, names)
    assert.deepEqual(changed(model(), model({ first: 'h2.example.com' })).compared, ['first', 'r2'])
  })

  it('are any if something around the routes or their order differs', () => {
    assert.equal(changedRoutes(model(), model({ above: 'true' })), undefined)
    const { routes, ...rest } = model()
    assert.equal(changedRoutes(model(), { ...rest, routes: routes.toReversed() }), undefined)
    assert.equal(changedRoutes(model(), { ...rest, routes: [...routes, ...routes] }), undefined)
  })

  it('are any if something around the routes names a backend that differs', () => {
    const { gateways, ...rest } = model()
    const named = gateways.map((gateway) => ({
      ...gateway,
      policies: gateway.policies.concat({ value: { backend: rest.backends[0]?.name } } as never),
    }))
    const before = { ...rest, gateways: named }
    assert.deepEqual(changed(before, before), { moved: [], compared: [] })
    const backends = rest.backends.map((backend) => ({ ...backend, path: '/x' }) as never)
    assert.equal(changedRoutes(before, { ...before, backends }), undefined)
  })

  it('are the only ones that are compared, among all that routes match', () => {
    const [before, after] = [model({ count: 300 }), model({ count: 300, rule: 'true' })]
    const { entries, matches } = waysThrough(after, changedRoutes(before, after)?.compared)
    assert.deepEqual(
      entries.map(({ route }) => route),
      ['r1'],
    )
    assert.deepEqual(matches, waysThrough(after).matches)
    let decided = 0
    const decide = () => {
      decided++
      return undefined
    }
    compareModels(before, after, { old: decide, now: decide })
    assert.ok(decided <= 100, `${decided}`)
  })

  it('are compared with a new route alone, of which nothing is left unknown', () => {
    const before = model({ count: 300 })
    for (const first of ['first.example.com', '*.example.com']) {
      const after = model({ count: 300, first })
      let decided = 0
      const decide = (isAdmitted: boolean) => () => {
        decided++
        return { isAdmitted, route: isAdmitted ? 'first' : '', reason: '' }
      }
      const found = compareModels(before, after, { old: decide(false), now: decide(true) })
      assert.deepEqual(found.untold, [])
      assert.deepEqual(
        found.differences.map(({ kind, route }) => `${kind} ${route}`),
        ['admitted first'],
      )
      assert.ok(decided <= 1_000, `${decided}`)
    }
  })
})
