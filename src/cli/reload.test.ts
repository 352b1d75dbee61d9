import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { type Loaded, loadText } from '../sources/file/load.ts'
import { Reloading } from './reload.ts'

/** What happens, in words; loads and applications end when they are told to. */
function watched() {
  const happened: string[] = []
  const loads: {
    readonly resolve: (loaded: Loaded) => void
    readonly reject: (error: Error) => void
  }[] = []
  const codes = (all: readonly Diagnostic[]) => all.map(({ code }) => code).join()
  const answer = { isApplied: true, diagnostics: [] as readonly Diagnostic[] }
  const reloading = new Reloading({
    file: 'gateway.yaml',
    load: () => {
      happened.push('load')
      return new Promise((resolve, reject) => loads.push({ resolve, reject }))
    },
    apply: async (model) => {
      happened.push(`apply ${model.routes.map(({ name }) => name).join()}`)
      return answer
    },
    follow: (files) => happened.push(`follow ${files.length}`),
    applied: () => void happened.push('applied'),
    rejected: (diagnostics) => happened.push(`rejected ${codes(diagnostics)}`),
  })
  return { happened, loads, reloading, answer }
}

const configuration = (route: string): Loaded =>
  loadText(
    `gateways: { default: { port: 80 } }\nroutes: [{ name: ${route}, backends: [{ host: a:1 }] }]`,
    'gateway.yaml',
    { environment: {} },
  )

describe('reloading', () => {
  it('takes over what is right', async () => {
    const { happened, loads, reloading } = watched()
    reloading.ask()
    loads[0]?.resolve(configuration('a'))
    await turn()
    assert.deepEqual(happened, ['load', 'follow 0', 'apply a', 'applied'])
  })

  it('what changes while one is read is read after it, once: the last one stays', async () => {
    const { happened, loads, reloading } = watched()
    reloading.ask()
    reloading.ask()
    reloading.ask()
    await turn()
    assert.deepEqual(happened, ['load'])
    loads[0]?.resolve(configuration('a'))
    await turn()
    loads[1]?.resolve(configuration('b'))
    await turn()
    assert.deepEqual(
      happened.filter((what) => !what.startsWith('follow')),
      ['load', 'apply a', 'applied', 'load', 'apply b', 'applied'],
    )
    assert.equal(loads.length, 2)
  })

  it('a mistake in the file changes nothing', async () => {
    const { happened, loads, reloading } = watched()
    reloading.ask()
    loads[0]?.resolve(configuration('[]'))
    await turn()
    assert.deepEqual(happened, ['load', 'follow 0', 'rejected PC0212'])
  })

  for (const [what, text] of [
    ['an empty file', ''],
    ['comments alone', '# in a moment\n'],
  ] as const) {
    it(`${what} changes nothing: it may be half written`, async () => {
      const { happened, loads, reloading } = watched()
      reloading.ask()
      loads[0]?.resolve(loadText(text, 'gateway.yaml', { environment: {} }))
      await turn()
      assert.deepEqual(happened, ['load', 'follow 0', 'rejected PC0223'])
    })
  }

  it('no gateway at all is taken over where it is written', async () => {
    const { happened, loads, reloading } = watched()
    reloading.ask()
    loads[0]?.resolve(loadText('gateways: {}', 'gateway.yaml', { environment: {} }))
    await turn()
    assert.deepEqual(happened, ['load', 'follow 0', 'apply ', 'applied'])
  })

  it('what cannot be put into effect is rejected', async () => {
    const { happened, loads, reloading, answer } = watched()
    answer.isApplied = false
    reloading.ask()
    loads[0]?.resolve(configuration('a'))
    await turn()
    assert.deepEqual(happened.slice(2), ['apply a', 'rejected '])
  })

  it('a load that fails is told with its code, and the next change is read as usual', async () => {
    const { happened, loads, reloading } = watched()
    reloading.ask()
    loads[0]?.reject(new Error('out of memory'))
    await turn()
    reloading.ask()
    loads[1]?.resolve(configuration('b'))
    await turn()
    assert.deepEqual(happened, [
      'load',
      'rejected PC0404',
      'load',
      'follow 0',
      'apply b',
      'applied',
    ])
  })
})
