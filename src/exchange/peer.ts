import { ipFromSocket } from '../cel/values/ip.ts'
import { Destination, Source } from './connection.ts'

/** The client side of a connection; undefined if the string is not an IP address. */
export function sourceOf(address: string, port: number): Source | undefined {
  const ip = ipFromSocket(address)
  return ip === undefined ? undefined : new Source(ip, port)
}

/** The gateway's side of a connection; `hostname` is the server name, on TLS listeners only. */
export function destinationOf(
  address: string,
  port: number,
  hostname: string | undefined,
): Destination | undefined {
  const ip = ipFromSocket(address)
  return ip === undefined ? undefined : new Destination(ip, port, hostname)
}

/** Sets the client that a trusted proxy reports; false if the string is not an IP address. */
export function moveSource(source: Source, address: string, port: number): boolean {
  const ip = ipFromSocket(address)
  if (ip === undefined) return false
  source.address = ip
  source.port = port
  return true
}
