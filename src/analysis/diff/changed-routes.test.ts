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
}

function model({ count = 3, rule = "request.path == '/1/a'", path, above }: Written = {}): Model {
  const guard = (allow: string) => ({ authorization: { rules: [{ allow }] } })
  const text = JSON.stringify({
    gateways: { default: { port: 8080, ...(above && { policies: guard(above) }) } },
    routes: Array.from({ length: count }, (_, index) => ({
      name: `r${index}`,
      matches: [{ path: { pathPrefix: index === 1 && path ? path : `/${index}` } }],
      policies: guard(index === 1 ? rule : `request.path == '/${index}/a'`),
      backends: [{ host: 'a:80' }],
    })),
  })
  const { value } = loadText(text, 'gateway.yaml', { environment: {} }).result
  assert.ok(value !== undefined)
  return value
}

describe('the routes that a change concerns', () => {
  it('are none for equal Models, wherever they are written', () => {
    assert.deepEqual(changedRoutes(model(), model()), new Set())
  })

  it('are those whose policies differ', () => {
    assert.deepEqual(changedRoutes(model(), model({ rule: 'true' })), new Set(['r1']))
  })

  it('are any if a match, a route or something around the routes differs', () => {
    for (const other of [{ path: '/x' }, { count: 4 }, { above: 'true' }])
      assert.equal(changedRoutes(model(), model(other)), undefined)
    const { routes, ...rest } = model()
    assert.equal(changedRoutes(model(), { ...rest, routes: routes.toReversed() }), undefined)
  })

  it('are the only ones that are compared, among all that routes match', () => {
    const [before, after] = [model({ count: 300 }), model({ count: 300, rule: 'true' })]
    const { entries, matches } = waysThrough(after, changedRoutes(before, after))
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
})
