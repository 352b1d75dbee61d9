import { ipFromSocket } from '../cel/values/ip.ts'
import { Destination, Source } from './connection.ts'

/** The client's end of a connection; undefined where the text is no address. */
export function sourceOf(address: string, port: number): Source | undefined {
  const ip = ipFromSocket(address)
  return ip === undefined ? undefined : new Source(ip, port)
}

/** Our end of it; `hostname` is the server name, on listeners of protocol TLS alone. */
export function destinationOf(
  address: string,
  port: number,
  hostname: string | undefined,
): Destination | undefined {
  const ip = ipFromSocket(address)
  return ip === undefined ? undefined : new Destination(ip, port, hostname)
}

/** What a trusted proxy in front says of the client; false where the text is no address. */
export function moveSource(source: Source, address: string, port: number): boolean {
  const ip = ipFromSocket(address)
  if (ip === undefined) return false
  source.address = ip
  source.port = port
  return true
}
