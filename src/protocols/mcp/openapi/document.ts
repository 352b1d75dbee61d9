import { type Operation, operationsOf } from './operations.ts'
import { type DocumentObject, isDocumentObject, readDocument } from './schema.ts'

export type DocumentSource = { readonly text: string } | { readonly url: string }

const TIMEOUT = 10_000
/** How long to wait before fetching a document again after a failure, in milliseconds. */
const RETRY = 5_000
const MAX_BYTES = 16 * 1024 * 1024

/** The description of an API; fetched once, on first use. */
export class ApiDocument {
  info: { readonly title: string; readonly version: string } = { title: 'api', version: '0' }
  readonly #source: DocumentSource
  #operations: Promise<readonly Operation[]> | undefined

  constructor(source: DocumentSource) {
    this.#source = source
  }

  load(base: string | undefined): Promise<readonly Operation[]> {
    this.#operations ??= this.#read(base).catch((error: unknown) => {
      setTimeout(() => {
        this.#operations = undefined
      }, RETRY).unref()
      throw error
    })
    return this.#operations
  }

  async #read(base: string | undefined): Promise<readonly Operation[]> {
    const text = 'url' in this.#source ? await fetched(this.#source.url) : this.#source.text
    const document = readDocument(text)
    if (typeof document === 'string') throw new Error(document)
    this.info = infoOf(document)
    return operationsOf(document, base)
  }
}

async function fetched(url: string): Promise<string> {
  const signal = AbortSignal.timeout(TIMEOUT)
  const response = await fetch(url, { signal, redirect: 'error' })
  if (!response.ok) throw new Error(`status ${response.status}`)
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of response.body ?? []) {
    size += piece.length
    if (size > MAX_BYTES) throw new Error('it is too long')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

function infoOf({ info }: DocumentObject) {
  const own = isDocumentObject(info) ? info : {}
  const { title, version } = own
  return {
    title: typeof title === 'string' ? title : 'api',
    version: typeof version === 'string' ? version : '0',
  }
}
