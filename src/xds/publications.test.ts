import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Outcome } from './delta-stream.ts'
import { routesOf } from './fixtures/delivery.ts'
import { Publications } from './publications.ts'

/** Publications, the Gateways that they reported as changed, and proxies by name. */
function begin() {
  const changed: string[] = []
  const publications = new Publications((gateway) => changed.push(gateway))
  const connect = (gateway: string, node: string) => {
    let wakes = 0
    const subscriber = {
      node,
      outcome: undefined as Outcome | undefined,
      wake: () => {
        wakes++
      },
    }
    const subscription = publications.subscribe(gateway, subscriber)
    return { subscriber, subscription, wakes: () => wakes }
  }
  return { publications, changed, connect }
}

describe('publications', () => {
  it('wake the proxies of a Gateway when its Model changes, and only then', () => {
    const { publications, connect } = begin()
    const first = publications.publish('a', routesOf('x'))
    publications.publish('b', routesOf('x'))
    const [one, two, other] = [connect('a', '1'), connect('a', '2'), connect('b', '3')]
    assert.equal(one.subscription?.snapshot()?.version, first)
    assert.equal(publications.publish('a', routesOf('x')), first)
    assert.deepEqual([one.wakes(), two.wakes(), other.wakes()], [0, 0, 0])
    const second = publications.publish('a', routesOf('x', 'y'))
    assert.notEqual(second, first)
    assert.deepEqual([one.wakes(), two.wakes(), other.wakes()], [1, 1, 0])
    assert.equal(two.subscription?.snapshot()?.version, second)
    assert.equal(other.subscription?.snapshot()?.version, first)
    two.subscription?.close()
    publications.publish('a', routesOf('y'))
    assert.deepEqual([one.wakes(), two.wakes()], [2, 1])
  })

  it('know the proxies that are connected, and report each change of them', () => {
    const { publications, changed, connect } = begin()
    publications.publish('a', routesOf('x'))
    assert.deepEqual(publications.proxies('a'), [])
    const [one, two] = [connect('a', '1'), connect('a', '2')]
    assert.deepEqual(changed.splice(0), ['a', 'a'])
    const outcome = { version: 'v', rejections: [] }
    one.subscriber.outcome = outcome
    one.subscription?.report()
    assert.deepEqual(changed.splice(0), ['a'])
    assert.deepEqual(publications.proxies('a'), [
      { node: '1', outcome },
      { node: '2', outcome: undefined },
    ])
    two.subscription?.close()
    assert.deepEqual(changed.splice(0), ['a'])
    assert.deepEqual(
      publications.proxies('a').map(({ node }) => node),
      ['1'],
    )
  })

  it('have nothing for a Gateway that is gone, or never was', () => {
    const { publications, changed, connect } = begin()
    assert.equal(connect('a', '1').subscription, undefined)
    publications.withdraw('a')
    publications.publish('a', routesOf('x'))
    const { subscription, wakes } = connect('a', '1')
    publications.withdraw('a')
    assert.deepEqual([subscription?.snapshot(), wakes()], [undefined, 1])
    assert.deepEqual(publications.proxies('a'), [])
    assert.equal(connect('a', '2').subscription, undefined)
    // One with the same name is another one, which a late stream does not get.
    publications.publish('a', routesOf('y'))
    assert.equal(subscription?.snapshot(), undefined)
    changed.length = 0
    subscription?.close()
    assert.deepEqual([changed, publications.proxies('a')], [['a'], []])
  })
})
