import { headerEdit } from '../../exchange/header-edit.ts'
import type { Attachments, Part } from '../define.ts'
import type { HeaderChanges } from '../header-changes.ts'
import { editResponse } from '../header-steps.ts'

export function compileResponseHeaders([{ value }]: Attachments<HeaderChanges>): Part {
  return { step: editResponse(headerEdit(value)) }
}
