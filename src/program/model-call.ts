import type { JsonObject } from '../cel/values/value.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { Reply } from '../exchange/reply.ts'
import type { Outcome } from '../exchange/step.ts'
import type { UsageLimit } from '../exchange/usage-limit.ts'
import { addPrompts } from '../protocols/llm/added-prompts.ts'
import type { Dialect, Endpoint, Operation, RequestSummary } from '../protocols/llm/dialect.ts'
import type { FormBody } from '../protocols/llm/form-body.ts'
import { dialectOf, type Guard, isRemote, setMembers } from '../protocols/llm/index.ts'
import type { ProviderAccess } from '../protocols/llm/provider.ts'
import type { ProviderOptions } from '../protocols/llm/schema.ts'
import type { StateMaps, TranslatedCall, Translator } from '../protocols/llm/translator.ts'
import type { Usage } from '../protocols/llm/usage.ts'
import { budgetUnits, entryOf, estimateOf, isPriced, UNPRICED } from './call-estimate.ts'
import { isReply, rejected, UNCHANGEABLE, UNENRICHED, UNGUARDED, UNNAMED } from './call-replies.ts'
import { type ComputedField, computeFields, type FieldValues } from './computed-fields.ts'
import { addressingEdit, chooseTranslator, missingHeaders, pathFor } from './model-addressing.ts'
import { attributesOf, costOf, invalid, readCall, tokensOf } from './model-attributes.ts'
import { calledModel, changesBodies, promptsOf, setsFields, withMarks } from './model-changes.ts'
import { type GuardChecks, guardRequest, guardRequestLater, guardsOf } from './model-guards.ts'
import type { ModelPrices, PricedCall } from './model-prices.ts'
import { ModelResponse } from './model-response.ts'
import { type ModelState, unknownState } from './model-state.ts'
import { type BudgetDecision, UsageReservation } from './usage-reservation.ts'

/** The request to one provider, and the reader of its response. */
export interface ModelAttempt {
  readonly body: Uint8Array
  readonly response: ModelResponse
}

/** How calls reach one provider. */
export interface CallTarget {
  readonly name: string
  readonly access: ProviderAccess
  readonly options: ProviderOptions
  /** The names that a model catalog may use for the provider. */
  readonly catalogNames: readonly string[]
  readonly prices?: ModelPrices | undefined
  /** Fields of the request that expressions compute. */
  readonly computed: readonly ComputedField[]
}

/** One request to a model, in the dialect of its client. */
export class ModelCall {
  readonly endpoint: Endpoint
  readonly state: ModelState | undefined
  /** The response of the provider that was called last. */
  response: ModelResponse | undefined = undefined
  readonly #dialect: Dialect
  #bytes: Uint8Array = new Uint8Array()
  #form: FormBody | undefined
  #summary: RequestSummary | undefined
  #reservation: UsageReservation | undefined
  #estimate: ((limit: UsageLimit) => number) | undefined
  /** It counts toward a budget in dollars. */
  #needsPrice = false
  /** `llm` in expressions, except for the provider. */
  attributes: JsonObject = {}
  /** `llmRequest` in expressions. */
  body: JsonObject = {}

  /** `state`: for dialects whose providers store objects that clients reference by ID. */
  constructor(endpoint: Endpoint, state?: ModelState) {
    this.endpoint = endpoint
    this.state = state
    this.#dialect = dialectOf(endpoint.dialect)
  }

  /** Expressions of the log read the model's output. */
  keepsCompletion = false
  /** The provider that was called last, by its OpenTelemetry name; empty if there is none. */
  providerName = ''
  /** The model's name in metrics: a name from the configuration. */
  modelLabel = 'other'

  /** The members of the request that guards changed; undefined if no service was called. */
  #guarded: Readonly<Record<string, unknown>> | undefined
  readonly guardChecks: GuardChecks = new Map()
  /** The cost; undefined until the call is complete, or if no provider reported its usage. */
  priced: PricedCall | undefined = undefined
  /** The provider that was called last, and the model. */
  #target: CallTarget | undefined
  #called = ''

  /** The model that the client requested; empty if it named none. */
  get model(): string {
    return this.#summary?.model ?? this.endpoint.model ?? this.state?.model ?? ''
  }

  get readsBody(): boolean {
    return this.endpoint.operation !== 'models'
  }

  /** Called when the body is available. A Reply describes an error in it. */
  read(bytes: Uint8Array = new Uint8Array(), exchange?: Exchange): Reply | undefined {
    const parsed = readCall(bytes, this.endpoint, exchange)
    if (!('object' in parsed)) return parsed
    const { object: body, form } = parsed
    if (this.#isState) return this.#readState(bytes, body, exchange)
    this.#form = form
    // Most bodies read the same either way, and are parsed once.
    const read = this.#dialect.describe(bytes, this.endpoint, parsed.isOrdinary ? body : undefined)
    if (!read.ok) return rejected(read.error)
    this.#bytes = bytes
    this.#summary = read.value
    this.attributes = attributesOf(read.value, body, bytes.length)
    this.body = body
    this.state?.openBody(read.value.body)
    return undefined
  }

  get #isState(): boolean {
    return this.endpoint.operation === 'state'
  }

  /** Reads a request to a path that references stored objects. */
  #readState(bytes: Uint8Array, body: JsonObject, exchange?: Exchange): Reply | undefined {
    const { model = '' } = this.state ?? {}
    this.state?.openBody(body)
    if (this.state?.unknown !== undefined) return unknownState(this.state.unknown)
    const { search = '', path = '' } = exchange?.request ?? {}
    // Content that is neither events nor JSON passes unchanged.
    const stream = /[?&]stream=true\b/.test(search) || path.endsWith('/content')
    this.#bytes = bytes
    this.#summary = { model, stream, body }
    this.attributes = model === '' ? {} : { requestModel: model }
    return undefined
  }

  /** Reserves the call's possible usage from its limits, whichever of `targets` serves it. */
  reserve(
    exchange: Exchange,
    selection: { readonly targets: readonly CallTarget[] },
  ): Outcome | Promise<Outcome> {
    const { model, attributes } = this
    if (exchange.usageLimits.length === 0) return undefined
    const limits = exchange.usageLimits.filter((limit) => limit.isFor(model))
    // Reading stored output uses nothing; the call that created it is counted.
    if (limits.length === 0 || this.#isState) return undefined
    const { targets } = selection
    const unpriced = this.unpriced(exchange, targets)
    if (unpriced !== undefined) return unpriced
    const computed = (target: CallTarget) => this.#computed(exchange, target)
    const call = { model, operation: this.endpoint.operation, attributes, computed }
    const estimate = (limit: UsageLimit) => estimateOf(limit, call, targets)
    this.#reservation = new UsageReservation(limits, estimate)
    this.#estimate = estimate
    return this.#reservation.take()
  }

  /** The reply if the call counts toward a dollar budget and no target has a price for it. */
  unpriced(exchange: Exchange, targets: readonly CallTarget[]): Reply | undefined {
    const { model } = this
    this.#needsPrice =
      !this.#isState &&
      exchange.usageLimits.some((limit) => limit.measure === 'usd' && limit.isFor(model))
    if (!this.#needsPrice) return undefined
    const isCounted = targets.some((target) =>
      isPriced(entryOf(target, model, this.#computed(exchange, target))),
    )
    return isCounted ? undefined : UNPRICED
  }

  /** The decisions of budgets about the call. */
  get budgetDecisions(): readonly BudgetDecision[] {
    return this.#reservation?.decisions ?? []
  }

  /**
   * Called when everything is complete: sets `llm` for the log, and for limits, which settle last.
   */
  finish(exchange: Exchange): void {
    const { response } = this
    response?.finish()
    const { model, usage, completion } = response?.summary ?? {}
    if (usage !== undefined) this.priced = this.#price(model, usage)
    // A call that no provider served costs nothing.
    const { status, reason } = exchange
    const isSuccess = status >= 200 && status < 300
    // It is unknown how much a provider bills for a call that its client aborted.
    const isGivenUp = status === 0 && (reason === 'client-gone' || reason === 'draining')
    const isServed = response !== undefined && (isSuccess || isGivenUp || response.isRejected)
    exchange.llm = {
      ...(exchange.llm ?? this.attributes),
      ...(model === undefined ? {} : { responseModel: model }),
      ...(usage === undefined ? {} : tokensOf(usage)),
      ...(completion === undefined ? {} : { completion }),
      ...(this.priced?.cost === undefined ? {} : { cost: costOf(this.priced.cost) }),
    }
    this.#reservation?.settle((limit) => (isServed ? this.#used(limit, usage) : 0))
  }

  /** Undefined means as much as was reserved. An aborted stream has no usage, and no discount. */
  #used(limit: UsageLimit, usage: Usage | undefined): number | undefined {
    if (limit.measure === 'requests') return 1
    if (this.endpoint.operation === 'countTokens') return 0
    const cost = this.priced?.cost
    const known =
      limit.measure === 'tokens'
        ? usage?.total
        : cost === undefined
          ? undefined
          : budgetUnits(cost.total)
    if (known === undefined || this.response?.isCut !== true) return known
    return Math.max(known, this.#estimate?.(limit) ?? 0)
  }

  #price(responded: string | undefined, usage: Usage): PricedCall | undefined {
    const { catalogNames = [], prices } = this.#target ?? {}
    return prices?.price(catalogNames, [responded ?? '', this.#called], usage)
  }

  /** `llm` in expressions, once this provider is chosen. */
  attributesFor(provider: string): JsonObject {
    return { ...this.attributes, provider }
  }

  /**
   * Runs asynchronous guards on the request for this provider, before `prepare`: services, and all
   * guards if the call is so long that it would delay other requests.
   */
  consult(exchange: Exchange, target: CallTarget): Outcome | Promise<Outcome> {
    this.#guarded = undefined
    if (exchange.guardrails.length === 0 || this.#isState) return undefined
    const { request } = guardsOf(exchange, this.guardChecks)
    const isLong = this.#bytes.length > MAX_GUARDED_AT_ONCE
    if (request.length === 0 || !(isLong || request.some(isRemote))) return undefined
    const written = this.#written(target.options, this.#computed(exchange, target))
    const body = { ...(this.#summary?.body ?? {}), ...written }
    return guardRequestLater(body, request).then((guarded) => {
      if (isReply(guarded)) return guarded
      this.#guarded = guarded
      return undefined
    })
  }

  /** The request for this provider; a Reply if it cannot be sent. */
  prepare(exchange: Exchange, target: CallTarget, mode?: 'without-services'): ModelAttempt | Reply {
    const { name, access, options, catalogNames, prices } = target
    const { model: asked, dialect: client } = { model: this.model, dialect: this.endpoint.dialect }
    const computed = this.#computed(exchange, target)
    const model = calledModel(options, asked, computed)
    if (model === '') return UNNAMED
    const guards = guardsOf(exchange, this.guardChecks)
    const { operation } = this.endpoint
    const isGuarded = guards.response.length > 0 && operation === 'generate'
    if (guards.response.length > 0 && (this.#isState || operation === 'compact')) return UNGUARDED
    if (guards.request.length > 0 && this.#isState && this.#bytes.length > 0) return UNGUARDED
    const isGuardedAtAll = guards.request.length + guards.response.length > 0
    if (operation === 'other' && (isGuardedAtAll || changesBodies(options, computed)))
      return UNCHANGEABLE
    const translator = chooseTranslator(client, access.dialects(options), isGuarded)
    if (translator === undefined && isGuarded) return UNGUARDED
    if (translator === undefined || !this.#isTranslatable(translator)) {
      return invalid(`No provider of \`${asked}\` supports this endpoint.`, 'unsupported_endpoint')
    }
    // Explaining a call must not call any service.
    const own = mode === undefined ? guards.request : guards.request.filter((one) => !isRemote(one))
    const sent = this.#isState ? this.#given : this.#changed(options, computed, own)
    if ('status' in sent) return sent
    const known = prices?.find(catalogNames, model ?? asked)
    if (this.#needsPrice && !isPriced(known)) return UNPRICED
    const read = translator.translate(sent.bytes, {
      described: sent.described,
      form: this.#form,
      model,
      maker: name,
      guards: guards.response,
      maxOutputTokens: known?.maxOutputTokens,
      endpoint: this.endpoint,
      state: this.#stateFor(exchange, name),
      keepsCompletion: this.keepsCompletion,
    })
    if (!read.ok) return rejected(read.error)
    const call =
      operation === 'generate'
        ? withMarks(read.value, translator, model ?? asked, options)
        : read.value
    this.#address(exchange, call, translator, { model: model ?? asked, access, options })
    this.providerName = access.telemetryName(options)
    this.modelLabel = model ?? known?.name ?? 'other'
    this.#target = target
    this.#called = model ?? asked
    const isEdited = translator.isPassThrough && this.state !== undefined
    const kind = { isEdited, isStored: this.#isState }
    this.response = new ModelResponse(call, this.#dialect, translator.isPassThrough, kind)
    return { body: call.request.body, response: this.response }
  }

  #stateFor(exchange: Exchange, provider: string): StateMaps | undefined {
    const { state, endpoint } = this
    if (state === undefined) return undefined
    const isOfResponses = (endpoint.state?.collection ?? 'responses') === 'responses'
    const maps = state.mapsFor(provider, this.model, isOfResponses)
    const path = endpoint.state?.pathWith(
      endpoint.state.ids.map((id) => maps.toProvider(id, 'id') ?? id),
    )
    if (path !== undefined) exchange.search = state.openQuery(exchange.search)
    return { ...maps, path }
  }

  /** The request with the configured fields, and the other fields as changed by guards. */
  #changed(
    options: ProviderOptions,
    computed: FieldValues,
    guards: readonly Guard[],
  ): SentBody | Reply {
    const isUnchanged = !setsFields(options) && Object.keys(computed).length === 0
    if (guards.length === 0 && this.#guarded === undefined && isUnchanged) return this.#given
    const written = this.#written(options, computed)
    const given = this.#summary?.body ?? {}
    const guarded = this.#guarded ?? guardRequest({ ...given, ...written }, guards)
    if (isReply(guarded)) return guarded
    const own = { ...written, ...guarded }
    const added = this.#added(options, { ...given, ...own })
    if (added === undefined) return UNENRICHED
    const set = { ...own, ...added }
    if (Object.keys(set).length === 0) return this.#given
    const bytes = setMembers(this.#bytes, set, given)
    // Guards change only texts: the summary of the other members still applies.
    const isMore = this.#summary === undefined || Object.keys({ ...written, ...added }).length > 0
    const { model, stream } = this.#summary ?? { model: '', stream: false }
    return { bytes, described: isMore ? undefined : { model, stream, body: { ...given, ...set } } }
  }

  get #given(): SentBody {
    return { bytes: this.#bytes, described: this.#summary }
  }

  /** The fields that expressions compute for this provider. */
  #computed(exchange: Exchange, { computed, options }: CallTarget): FieldValues {
    if (computed.length === 0 || this.#isState) return {}
    const model = calledModel(options, this.model) ?? this.model
    return computeFields(computed, exchange, { ...this.body, model })
  }

  /** The prompts to add to the conversation; undefined if there is no place for them. */
  #added(options: ProviderOptions, body: RequestSummary['body']) {
    const prompts = promptsOf(options)
    const { operation, dialect } = this.endpoint
    // An embedding has no conversation, and stored content already has the added prompts.
    if (prompts === undefined || !ENRICHED.has(operation)) return {}
    return addPrompts(dialect, body, prompts)
  }

  /**
   * The fields that the configuration sets: missing fields, overridden fields, and computed fields;
   * undefined removes a field. The model is set when the call is translated.
   */
  #written(
    { defaults = {}, overrides = {} }: ProviderOptions,
    { model: _, ...computed }: FieldValues,
  ): Readonly<Record<string, unknown>> {
    const given = this.#summary?.body ?? {}
    const missing = Object.entries(defaults as object).filter(
      ([name]) => !Object.hasOwn(given, name),
    )
    return { ...Object.fromEntries(missing), ...(overrides as object), ...computed }
  }

  /** Only generation is translated; everything else needs a provider of the same dialect. */
  #isTranslatable({ isPassThrough }: Translator): boolean {
    return isPassThrough || this.endpoint.operation === 'generate'
  }

  /** Sets the destination of the request and the headers that its dialect needs. */
  #address(
    exchange: Exchange,
    { request }: TranslatedCall,
    { isPassThrough, provider: dialect }: Translator,
    target: { model: string; access: ProviderAccess; options: ProviderOptions },
  ): void {
    const { access, options } = target
    const [path = '', query = ''] = pathFor(request.path, dialect, target, access, options).split(
      '?',
    )
    exchange.path = path
    // Query parameters of the client's dialect mean nothing in another dialect.
    const own = isPassThrough ? exchange.search.slice(1) : ''
    const pairs = [query, own].filter((part) => part !== '').join('&')
    exchange.search = pairs === '' ? '' : `?${pairs}`
    const set = isPassThrough ? missingHeaders(request.headers, exchange) : request.headers
    const edit = addressingEdit(set, isPassThrough)
    exchange.requestEdit = exchange.requestEdit.with(edit)
  }
}

/** The body for a provider and its summary; if undefined, the body must be read. */
interface SentBody {
  readonly bytes: Uint8Array
  readonly described: RequestSummary | undefined
}

/** Bytes of a call whose texts are searched in one turn. */
const MAX_GUARDED_AT_ONCE = 1 << 14

const ENRICHED: ReadonlySet<Operation> = new Set(['generate', 'countTokens'])
