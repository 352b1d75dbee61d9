import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { InOrder } from './in-order.ts'
import { filterList } from './lists.ts'
import { methodOf } from './methods.ts'
import type { Names } from './names.ts'
import { type McpResponder, Sendings, type Serving } from './serving.ts'

const METHOD = methodOf('tools/list') as Parameters<typeof filterList>[2]['method']
const names = { forClient: (_: unknown, __: unknown, name: string) => name } as unknown as Names

function listOf(count: number): string {
  const tools = Array.from({ length: count }, (_, at) => `{"name":"tool-${at}", "x": 1.0}`)
  return `{"jsonrpc":"2.0","id":1,"result":{"tools":[${tools.join(', ')}],"cacheScope":"public"}}`
}

const context = (shows: (name: string) => boolean) => ({
  method: METHOD,
  names,
  shows: (_: number, name: string) => shows(name),
  isFiltered: true,
})

function serving(): Serving<unknown> {
  const responder = {
    broke: (error: unknown) => assert.fail(String(error)),
  } as unknown as McpResponder
  return { sendings: new Sendings(), responder } as unknown as Serving<unknown>
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 5))

describe('a tool list', () => {
  it('is filtered at once if it is short', () => {
    const filtered = filterList(
      listOf(3),
      0,
      context((name) => name !== 'tool-1'),
    )
    assert.equal(
      filtered,
      '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"tool-0", "x": 1.0},{"name":"tool-2", "x": 1.0}],"cacheScope":"private"}}',
    )
  })

  it('is read and filtered in steps if it is long, a few tools in each', () => {
    let asked = 0
    const filtered = filterList(
      listOf(10_000),
      0,
      context((name) => {
        asked++
        return !name.endsWith('7')
      }),
    )
    assert.ok(typeof filtered === 'object')
    let steps = 0
    let step = filtered.next()
    for (; step.done !== true; step = filtered.next()) {
      assert.ok(asked <= 8 * steps, 'a few at a time')
      steps++
    }
    assert.ok(steps >= 10_000 / 8, `${steps} steps`)
    const { tools } = JSON.parse(step.value).result as { tools: readonly { name: string }[] }
    assert.equal(tools.length, 9_000)
    assert.ok(tools.every(({ name }) => !name.endsWith('7')))
  })
})

describe('a list with a tool that has too many values to be read in time', () => {
  const schema = `[${'[],'.repeat(50_000)}1]`
  const text = `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":${schema}}]}}`

  it('is rejected, and no part of it is forwarded', () => {
    const filtered = filterList(
      text,
      0,
      context(() => true),
    )
    assert.ok(typeof filtered === 'object')
    assert.throws(() => {
      while (filtered.next().done !== true);
    })
  })
})

describe('server events', () => {
  it('keep their order while one of them takes several turns', async () => {
    const own = serving()
    const order = new InOrder(own)
    const seen: string[] = []
    function* steps(count: number): Generator<void, string> {
      for (let at = 0; at < count; at++) yield
      return `long ${count}`
    }
    let resumed = 0
    own.sendings.add({ stop() {}, resume: () => void resumed++ })
    order.run(() => order.after(steps(10), (text) => void seen.push(text)))
    assert.equal(
      order.run(() => order.after(steps(3), (text) => void seen.push(text))),
      false,
    )
    assert.equal(
      order.run(() => void seen.push('end')),
      false,
    )
    assert.equal(seen.length, 0)
    while (seen.length < 3) await settled()
    assert.equal(seen.join(), 'long 10,long 3,end')
    assert.equal(resumed, 1)
    assert.equal(
      order.run(() => void seen.push('more')),
      true,
    )
  })

  it('are dropped once the client is gone, and so are the steps', async () => {
    const own = serving()
    const order = new InOrder(own)
    let steps = 0
    function* endless(): Generator<void, string> {
      for (;;) {
        steps++
        // As if the client disconnected in between.
        if (steps === 5) own.sendings.stop()
        yield
      }
    }
    order.run(() => order.after(endless(), () => assert.fail('nobody wants it')))
    order.run(() => assert.fail('nobody wants it'))
    await settled()
    assert.equal(steps, 5)
  })
})
