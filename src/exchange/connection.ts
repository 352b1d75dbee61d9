import type {
  DestinationField,
  DestinationValues,
  SourceField,
  SourceValues,
} from '../cel/stages.ts'
import type { Ip } from '../cel/values/ip.ts'
import { Struct } from '../cel/values/struct.ts'

/** The identity of a client according to its certificate. */
export interface ClientCertificate {
  readonly subject: string
  readonly subjectCn: string | undefined
  readonly subjectAltNames: readonly string[]
  readonly identity: string | undefined
  readonly issuer: string
  readonly fingerprint: string
}

const SOURCE_FIELDS: ReadonlySet<string> = new Set<SourceField>([
  'address',
  'port',
  'rawAddress',
  'rawPort',
  'identity',
  'subject',
  'subjectCn',
  'subjectAltNames',
  'issuer',
  'fingerprint',
])

/** `source` in expressions. */
export class Source extends Struct implements SourceValues {
  override readonly structName: string = 'source'
  override readonly fieldNames = SOURCE_FIELDS
  address: Ip
  port: number
  readonly rawAddress: Ip
  readonly rawPort: number
  certificate: ClientCertificate | undefined = undefined

  constructor(address: Ip, port: number) {
    super()
    this.address = address
    this.port = port
    this.rawAddress = address
    this.rawPort = port
  }

  /**
   * A copy for one request with the address that a trusted proxy reports; the connection keeps its
   * own.
   */
  seenAs(address: Ip, port: number): Source {
    const seen = new Source(this.rawAddress, this.rawPort)
    seen.address = address
    seen.port = port
    seen.certificate = this.certificate
    return seen
  }

  get identity(): string | undefined {
    return this.certificate?.identity
  }

  get subject(): string | undefined {
    return this.certificate?.subject
  }

  get subjectCn(): string | undefined {
    return this.certificate?.subjectCn
  }

  get subjectAltNames(): readonly string[] | undefined {
    return this.certificate?.subjectAltNames
  }

  get issuer(): string | undefined {
    return this.certificate?.issuer
  }

  get fingerprint(): string | undefined {
    return this.certificate?.fingerprint
  }
}

const DESTINATION_FIELDS: ReadonlySet<string> = new Set<DestinationField>([
  'address',
  'port',
  'hostname',
])

/** `destination` in expressions. */
export class Destination extends Struct implements DestinationValues {
  override readonly structName: string = 'destination'
  override readonly fieldNames = DESTINATION_FIELDS
  readonly address: Ip
  readonly port: number
  /** The server name; set only on listeners of protocol TLS. */
  readonly hostname: string | undefined

  constructor(address: Ip, port: number, hostname: string | undefined) {
    super()
    this.address = address
    this.port = port
    this.hostname = hostname
  }
}

/** One downstream socket: the state that its requests share. */
export class Connection {
  readonly source: Source
  readonly destination: Destination
  readonly isEncrypted: boolean
  /** The server name that the client sent, on any listener. */
  readonly sni: string | undefined
  readonly openedAt: number

  constructor(
    source: Source,
    destination: Destination,
    isEncrypted: boolean,
    sni: string | undefined,
    openedAt: number,
  ) {
    this.source = source
    this.destination = destination
    this.isEncrypted = isEncrypted
    this.sni = sni
    this.openedAt = openedAt
  }
}
