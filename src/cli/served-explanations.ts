import type { ExplainQuery, ExplainReply } from '../admin/api/deps.ts'
import type { Status } from '../admin/responses.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { locateAll, type Places } from '../diagnostics/places.ts'
import { renderTerminal } from '../diagnostics/render.ts'
import { hasErrors } from '../diagnostics/result.ts'
import type { Model } from '../model/model.ts'
import type { CatalogSource } from '../model/settings.ts'
import { REQUEST_SLICE, runCooperatively } from '../model/steps.ts'
import { compileSteps } from '../program/compile.ts'
import { closeKept, retiredKept } from '../program/kept.ts'
import type { Program } from '../program/program.ts'
import type { Configuration, ConfigurationView } from '../sources/database/configuration.ts'
import { loadOver } from '../sources/database/load.ts'
import { UsageError } from './define.ts'
import { explainWith, requestIn } from './explain-request.ts'
import { hypotheticalFrom } from './hypothetical-request.ts'
import { idleServices } from './idle-deps.ts'

const MAX_WAITING = 8
/** Rules of a stage in a report; the one that decides is always in it. */
const MAX_RULES = 1_000
/** Milliseconds of work for one explanation. */
const MAX_WORK = 20_000
/** Milliseconds for which the compiled configuration is kept: questions come in series. */
const KEPT = 30_000

export interface ExplanationsOptions {
  readonly status: () => Pick<Status, 'model' | 'settings'>
  /** Those of the configuration that is served. */
  readonly places: () => Places
  readonly configuration: Pick<Configuration, 'preview'>
  readonly now: () => number
  readonly maxWork?: number
}

type Run = <T>(steps: Generator<void, T>) => Promise<T>

/**
 * Explains requests in the process of the gateway, which knows the configuration already: a new
 * process would need many seconds on a busy machine. The work is done one query at a time, in
 * slices between the requests that this process serves, and has a limit.
 */
export class Explanations {
  readonly #options: ExplanationsOptions
  readonly #dice = { value: 0 }
  #waiting = 0
  #last: Promise<unknown> = Promise.resolve()
  #served: { readonly model: Model; readonly program: Program } | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: ExplanationsOptions) {
    this.#options = options
  }

  explain(query: ExplainQuery): Promise<ExplainReply> {
    if (this.#waiting > MAX_WAITING) return Promise.resolve('busy')
    this.#waiting++
    const reply = this.#last
      .then(() => this.#explain(query))
      .finally(() => {
        this.#waiting--
      })
    this.#last = reply.catch(() => {})
    return reply
  }

  async #explain(query: ExplainQuery): Promise<ExplainReply> {
    const run = this.#runner()
    try {
      const read = 'record' in query ? requestIn(query.record) : { request: requestOf(query) }
      if (typeof read === 'string') return { status: 422, problem: read }
      const { request } = read
      const note = 'note' in read ? read.note : undefined
      const compiled = await this.#program('changes' in query ? query.changes : [], run)
      if (compiled === 'busy' || !('program' in compiled)) return compiled
      const { program, places, close } = compiled
      try {
        const options = { dice: this.#dice, run, places, maxRules: MAX_RULES }
        const report = await explainWith(program, request, options)
        if (typeof report === 'string') return { status: 422, problem: report }
        return {
          report: note === undefined ? report : { ...report, notes: [note, ...report.notes] },
        }
      } finally {
        close()
      }
    } catch (error) {
      if (error instanceof UsageError) return { status: 422, problem: error.message }
      if (error instanceof TooMuchWork) return { status: 422, problem: TOO_MUCH }
      throw error
    }
  }

  /** Runs steps until all of them together have taken too long. */
  #runner(): Run {
    const { now, maxWork = MAX_WORK } = this.#options
    let left = maxWork
    function* counted<T>(steps: Generator<void, T>): Generator<void, T> {
      for (;;) {
        const began = now()
        const { done, value } = steps.next()
        if (done === true) return value
        left -= now() - began
        if (left < 0) throw new TooMuchWork()
        yield
      }
    }
    return (steps) => runCooperatively(counted(steps), now, REQUEST_SLICE)
  }

  async #program(changes: ExplainQueryChanges, run: Run): Promise<Compiled | ExplainReply> {
    const { status, configuration } = this.#options
    const { model, settings } = status()
    if (model === undefined) return { status: 503, problem: 'no configuration is served yet' }
    const { modelCatalog } = settings
    if (changes.length === 0) return this.#ofServed(model, modelCatalog, run)
    const view = configuration.preview(changes)
    if ('why' in view) return { failure: view }
    return this.#ofPreview(view, modelCatalog, run)
  }

  async #ofServed(model: Model, catalog: readonly CatalogSource[], run: Run): Promise<Compiled> {
    clearTimeout(this.#timer)
    if (this.#served?.model !== model) {
      this.#forget()
      this.#served = { model, program: await this.#compile(model, catalog, run) }
    }
    const close = () => {
      this.#timer = setTimeout(() => this.#forget(), KEPT).unref()
    }
    return { program: this.#served.program, places: this.#options.places(), close }
  }

  /** Errors are reported as by a command, because such a configuration would not be served. */
  async #ofPreview(
    { baseline, merged }: ConfigurationView,
    catalog: readonly CatalogSource[],
    run: Run,
  ): Promise<Compiled | ExplainReply> {
    const { result, settings, places } = await run(loadOver(baseline, merged))
    if (result.value === undefined || hasErrors(result.diagnostics)) {
      return { status: 422, problem: textOf(result.diagnostics) }
    }
    const program = await this.#compile(result.value, settings?.modelCatalog ?? catalog, run)
    const close = () => closeKept(retiredKept(program, undefined))
    if (!hasErrors(program.diagnostics)) return { program, places, close }
    close()
    return { status: 422, problem: textOf(locateAll(places, program.diagnostics)) }
  }

  #compile(model: Model, catalog: readonly CatalogSource[], run: Run): Promise<Program> {
    return run(compileSteps(model, undefined, idleServices(this.#dice, catalog)))
  }

  #forget(): void {
    if (this.#served === undefined) return
    closeKept(retiredKept(this.#served.program, undefined))
    this.#served = undefined
  }
}

type ExplainQueryChanges = Extract<ExplainQuery, { readonly changes: unknown }>['changes']

interface Compiled {
  readonly program: Program
  readonly places: Places
  readonly close: () => void
}

class TooMuchWork extends Error {}

const TOO_MUCH =
  'explaining this takes too long between the requests of the gateway: run `portcullis explain FILE` with its configuration'

function requestOf({ body, options }: Extract<ExplainQuery, { readonly options: unknown }>) {
  const sent = body === undefined ? options : { ...options, body }
  const bytes = body === undefined ? undefined : Buffer.from(body)
  const hypothetical = hypotheticalFrom(sent)
  const url = options.request
  return { hypothetical, body: bytes, url, hasPassed: false, isRecorded: false }
}

function textOf(diagnostics: readonly Diagnostic[]): string {
  return renderTerminal(diagnostics, { colour: false, width: 100 })
}
