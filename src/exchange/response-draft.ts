import type { ResponseStageField, ResponseStageValues } from '../cel/stages.ts'
import { Struct } from '../cel/values/struct.ts'
import type { Exchange } from './exchange.ts'
import { type HeaderEdit, NO_EDIT } from './header-edit.ts'
import type { HeaderView } from './header-view.ts'
import { KeptHeaders } from './kept-headers.ts'
import type { Reply } from './reply.ts'
import type { Outcome } from './step.ts'

/**
 * A response before its head is sent: that of a backend, or one of the gateway itself. Policies on
 * the way back read it and change it, the innermost first.
 */
export class ResponseDraft {
  status: number
  /** The gateway made it, whether a policy, a rule or an error. */
  readonly isOwn: boolean
  /** False for 204, 304 and a backend's response to HEAD: then no transformer is opened. */
  readonly hasBody: boolean
  /** Bytes of the body as the backend announced it, or as they were replaced; -1: not known. */
  length: number
  /** Set if a policy needs the whole body, as changed so far, without its Content-Encoding. */
  body: Uint8Array | undefined = undefined
  #edit: HeaderEdit
  #headers: KeptHeaders | undefined = undefined
  readonly #received: HeaderView | undefined

  /** `edit`: what was decided about its headers before it was there. */
  constructor(
    status: number,
    received: HeaderView | undefined,
    edit: HeaderEdit,
    { isOwn = false, hasBody = true, length = -1 } = {},
  ) {
    this.status = status
    this.isOwn = isOwn
    this.hasBody = hasBody
    this.length = length
    this.#received = received
    this.#edit = edit
  }

  /** As changed so far. */
  get headers(): HeaderView {
    this.#headers ??= new KeptHeaders(this.#received, this.#edit)
    return this.#headers
  }

  /** All changes to its headers. */
  get edit(): HeaderEdit {
    return this.#edit
  }

  /** Changes headers after all that was changed before. */
  change(edit: HeaderEdit): void {
    if (edit === NO_EDIT) return
    this.#edit = this.#edit.with(edit)
    this.#headers = undefined
  }
}

/**
 * One policy at work on the response. A Reply takes the place of the response; the policies around
 * this one still see it.
 */
export type ResponseStep = (
  exchange: Exchange,
  response: ResponseDraft,
) => Outcome | Promise<Outcome>

/** Of the headers alone: what it does to anything else is ignored. */
export type HeadChange = (exchange: Exchange, head: ResponseDraft) => void

const FIELDS: ReadonlySet<string> = new Set<ResponseStageField>([
  'code',
  'headers',
  'body',
  'flags',
])

/** `response` in expressions that run when the head of a response is there. */
export class DraftAttributes extends Struct implements ResponseStageValues {
  override readonly structName: string = 'response'
  override readonly fieldNames = FIELDS
  readonly #draft: ResponseDraft
  /** Why the gateway responded by itself; empty for a backend's response. */
  readonly flags: string

  constructor(draft: ResponseDraft, own?: Reply) {
    super()
    this.#draft = draft
    this.flags = own?.reason ?? ''
  }

  get code(): number {
    return this.#draft.status
  }

  get headers(): HeaderView {
    return this.#draft.headers
  }

  get body(): Uint8Array | undefined {
    return this.#draft.body
  }
}
