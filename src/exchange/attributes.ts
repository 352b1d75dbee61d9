import type { RequestField, RequestValues } from '../cel/stages.ts'
import { Struct } from '../cel/values/struct.ts'
import { type Timestamp, timestampOf } from '../cel/values/timestamp.ts'
import { NO_REQUEST_ID, type RequestId } from '../telemetry/request-id.ts'
import type { HeaderView } from './header-view.ts'

const REQUEST_FIELDS: ReadonlySet<string> = new Set<RequestField>([
  'method',
  'path',
  'pathAndQuery',
  'query',
  'uri',
  'host',
  'scheme',
  'version',
  'headers',
  'startTime',
  'id',
  'body',
])

/** `request` in expressions. The path is normalized before it is first read. */
export class RequestAttributes extends Struct implements RequestValues {
  override readonly structName: string = 'request'
  override readonly fieldNames = REQUEST_FIELDS
  readonly method: string
  readonly path: string
  /** Includes the question mark; empty if there is no query. */
  readonly search: string
  readonly host: string
  readonly scheme: string
  readonly version: string
  readonly headers: HeaderView
  readonly startedAt: number
  id: RequestId = NO_REQUEST_ID
  body: Uint8Array | undefined = undefined

  constructor(
    method: string,
    path: string,
    search: string,
    host: string,
    scheme: string,
    version: string,
    headers: HeaderView,
    startedAt: number,
  ) {
    super()
    this.method = method
    this.path = path
    this.search = search
    this.host = host
    this.scheme = scheme
    this.version = version
    this.headers = headers
    this.startedAt = startedAt
  }

  get query(): string {
    return this.search === '' ? '' : this.search.slice(1)
  }

  get pathAndQuery(): string {
    return this.path + this.search
  }

  get uri(): string {
    return `${this.scheme}://${this.host}${this.path}${this.search}`
  }

  get startTime(): Timestamp | undefined {
    return timestampOf(Math.floor(this.startedAt / 1000), (this.startedAt % 1000) * 1_000_000)
  }
}
