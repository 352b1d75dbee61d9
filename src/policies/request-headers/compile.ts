import { headerEdit } from '../../exchange/header-edit.ts'
import type { Attachments, Part } from '../define.ts'
import type { HeaderChanges } from '../header-changes.ts'
import { editRequest } from '../header-steps.ts'

export function compileRequestHeaders([{ value }]: Attachments<HeaderChanges>): Part {
  return { step: editRequest(headerEdit(value)) }
}
