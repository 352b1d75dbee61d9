import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { type Result, rejection, success } from '../diagnostics/result.ts'
import type { Model } from '../model/model.ts'
import type { Outcome, Source } from '../sources/source.ts'
import { followSource } from './reload.ts'

const origin = (object: string) => ({ kind: 'object', object, field: '' }) as const
const route = (name: string) => ({ name, origin: origin(name), rules: [], policies: [] })
const model = {
  gateways: [],
  routes: [route('a'), route('b')],
  tcpRoutes: [],
  backends: [],
  frontend: [],
} as unknown as Model

const error = (object: string): Diagnostic => ({
  code: 'PC0101',
  severity: 'error',
  message: `${object} is wrong`,
  origin: origin(object),
})

interface Given {
  readonly isStrict: boolean
  readonly result: Result<Model>
  readonly applied?: () => void
  readonly apply?: () => Promise<{ isApplied: boolean; diagnostics: readonly Diagnostic[] }>
}

/** One update of a source, and the outcome that the source receives. */
async function settle({ isStrict, result, apply, applied }: Given) {
  const outcomes: Outcome[] = []
  const happened: string[] = []
  const source: Source = {
    isStrict,
    refresh: () => {},
    async *watch() {
      yield { result, settled: (outcome) => outcomes.push(outcome) }
    },
  }
  const options = {
    apply: async (_: Model, strict?: boolean) => {
      happened.push(strict ? 'apply strictly' : 'apply part by part')
      return apply?.() ?? { isApplied: true, diagnostics: [] }
    },
    applied: () => {
      happened.push('applied')
      applied?.()
    },
    unreported: () => void happened.push('unreported'),
    rejected: () => void happened.push('rejected'),
    broke: () => void happened.push('broke'),
  }
  await followSource(source, options, new AbortController().signal)
  assert.equal(outcomes.length, 1, 'a source is told once')
  const [outcome] = outcomes as [Outcome]
  const rejected = outcome.rejected.map(({ name }) => name).join()
  const codes = outcome.diagnostics.map(({ message }) => message).join()
  return { happened: happened.join(), isApplied: outcome.isApplied, rejected, codes }
}

describe('the outcome of an update', () => {
  const wrong = success(model, [error('a')])

  it('from a strict source: an error rejects all of it', async () => {
    const outcome = await settle({ isStrict: true, result: wrong })
    const said = { isApplied: false, rejected: '', codes: 'a is wrong' }
    assert.deepEqual(outcome, { happened: 'rejected', ...said })
  })

  it('from any other source: the part is rejected, the rest is applied', async () => {
    const outcome = await settle({ isStrict: false, result: wrong })
    const said = { isApplied: true, rejected: 'a', codes: 'a is wrong' }
    assert.deepEqual(outcome, { happened: 'apply part by part,applied', ...said })
  })

  it('includes errors found while it is applied', async () => {
    const apply = async () => ({ isApplied: true, diagnostics: [error('b')] })
    const outcome = await settle({ isStrict: false, result: wrong, apply })
    assert.equal(outcome.rejected, 'a,b')
    assert.equal(outcome.codes, 'a is wrong,b is wrong')
  })

  it('without a Model: nothing is applied', async () => {
    const outcome = await settle({ isStrict: false, result: rejection([error('a')]) })
    const said = { isApplied: false, rejected: '', codes: 'a is wrong' }
    assert.deepEqual(outcome, { happened: 'rejected', ...said })
  })

  it('reports that it cannot be applied, whatever was thrown', async () => {
    const apply = () => Promise.reject(new Error('a fault'))
    const outcome = await settle({ isStrict: false, result: success(model), apply })
    const said = { isApplied: false, rejected: '', codes: '' }
    assert.deepEqual(outcome, { happened: 'apply part by part,broke', ...said })
  })
})

describe('an applied update', () => {
  it('is not reported as rejected if reporting it throws', async () => {
    const applied = () => {
      throw new Error('the disk is full')
    }
    const outcome = await settle({ isStrict: false, result: success(model), applied })
    const said = { isApplied: true, rejected: '', codes: '' }
    assert.deepEqual(outcome, { happened: 'apply part by part,applied,unreported', ...said })
  })
})

describe('a source that throws', () => {
  const quiet = {
    apply: async () => ({ isApplied: true, diagnostics: [] }),
    rejected: () => {},
    unreported: () => assert.fail(),
  }

  it('is reported, and watched again until it ends', async () => {
    const happened: string[] = []
    let times = 0
    const source: Source = {
      isStrict: false,
      refresh: () => void happened.push('refresh'),
      async *watch() {
        times++
        yield { result: success(model) }
        if (times < 3) throw new Error(`fault ${times}`)
      },
    }
    const options = {
      ...quiet,
      applied: () => void happened.push('applied'),
      broke: (error: unknown) => void happened.push(String(error)),
    }
    await followSource(source, options, new AbortController().signal, 1)
    assert.deepEqual(happened, [
      ...['applied', 'Error: fault 1', 'refresh'],
      ...['applied', 'Error: fault 2', 'refresh'],
      'applied',
    ])
  })

  it('is released when the process stops', async () => {
    const stopping = new AbortController()
    const source: Source = {
      isStrict: false,
      refresh: () => assert.fail('nothing is read any more'),
      // biome-ignore lint/correctness/useYield: it fails before
      async *watch() {
        throw new Error('a fault')
      },
    }
    const options = { ...quiet, applied: () => {}, broke: () => stopping.abort() }
    await followSource(source, options, stopping.signal, 600_000)
  })
})
