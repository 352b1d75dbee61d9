import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { oncePerCause, partName } from './causes.ts'

describe('why something is not known', () => {
  for (const [part, expected] of [
    ['routes[api].policies.budgets', '`budgets` of route `api`'],
    [
      'routes[r].rules[r].action.backends[mc].policies.mcpAuthorization.value.rules[1]',
      '`mcpAuthorization` of backend `mc` of route `r`',
    ],
    [
      'backends[llm].groups[0].providers[a].options.model',
      '`model` of provider `a` of backend `llm`',
    ],
    ['backends[mc].targets[files].transport', 'server `files` of backend `mc`'],
    ['frontend.frontendHttp.value.maxHeadSize', '`frontendHttp.maxHeadSize`'],
    [
      'routes[a].rules[0].action.backends[b].policies.transformations.value.variants[0].request',
      '`transformations` of backend `b` of route `a`',
    ],
    [
      'gateways[default].listeners[web].tls.clients.ca',
      '`tls.clients.ca` of listener `web` of gateway `default`',
    ],
    ['settings.session', '`config.session`'],
    ['the listeners that share port 80', 'the listeners that share port 80'],
  ] as const) {
    it(part, () => {
      assert.equal(partName(part), expected)
    })
  }

  it('is said once for each part', () => {
    const place = { kind: 'admitted', listener: 'default/default' } as const
    const why = (names: string) => `${names} differs between the routes that match, and more`
    const part = { ...place, route: 'api', part: 'routes[api].policies.budgets', why: '' }
    const repeated = [
      { ...place, route: 'api', why: why('`budgets`') },
      { ...place, route: 'api', why: `calls to \`a\`: ${why('`budgets`')}` },
    ]
    const others = [
      { ...place, route: 'other', why: why('`budgets`') },
      { ...place, listener: 'x/y', route: 'api', why: why('`budgets`') },
      { ...place, kind: 'refused', route: 'api', why: why('`budgets`') } as const,
      { ...place, route: 'api', why: why('`budgets` and `csrf`') },
      { ...place, route: 'api', why: 'it depends' },
    ]
    assert.deepEqual(oncePerCause([part, ...repeated, ...others]), [part, ...others])
    // Without the part, each is the only word about its place.
    assert.deepEqual(oncePerCause(repeated), repeated)
  })
})
