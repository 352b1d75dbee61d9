// HOT PATH: the head of a request whose body was read. Guarded by bench/llm.ts.

import type { RequestHead } from './head.ts'
import type { Framing } from './message.ts'

/**
 * A request head with the framing of another body; everything else is as it was read. It is a copy
 * with the same members in the same order: an object that inherits from the head would have its own
 * shape for each connection, which would slow down all code that reads heads.
 */
class FramedHead implements RequestHead {
  readonly fields: RequestHead['fields']
  minor: number
  framing: Framing
  length: number
  keepAlive: boolean
  upgrade: string
  readonly options: string[]
  method: string
  form: RequestHead['form']
  scheme: RequestHead['scheme']
  path: string
  query: string
  host: string
  port: number
  expectContinue: boolean
  takesTrailers: boolean
  authority: Uint8Array
  lowersNames: boolean
  filterTrailers: RequestHead['filterTrailers']
  readonly line: RequestHead['line']
  inFields: boolean

  constructor(head: RequestHead, framing: Framing, length: number) {
    this.fields = head.fields
    this.minor = head.minor
    this.framing = framing
    this.length = length
    this.keepAlive = head.keepAlive
    this.upgrade = head.upgrade
    this.options = head.options
    this.method = head.method
    this.form = head.form
    this.scheme = head.scheme
    this.path = head.path
    this.query = head.query
    this.host = head.host
    this.port = head.port
    this.expectContinue = head.expectContinue
    this.takesTrailers = head.takesTrailers
    this.authority = head.authority
    this.lowersNames = head.lowersNames
    this.filterTrailers = head.filterTrailers
    this.line = head.line
    this.inFields = head.inFields
  }
}

export function framedHead(head: RequestHead, framing: Framing, length: number): RequestHead {
  return new FramedHead(head, framing, length)
}
