import type { bulk as en } from '../en/bulk.ts'
import type { SameKeys } from '../same-keys.ts'

export const bulk: SameKeys<typeof en> = {
  title: 'Ações em lote',
  replay: 'Reprocessamento de não entregues',
  purge: 'Exclusão de não entregues',
  import: 'Importação de supressões',
  states: {
    waiting: 'Aguardando um worker',
    running: 'Em andamento',
    stopped: 'Interrompida',
    done: 'Concluída',
    failed: 'Falhou',
  },
  progress: '{{done}} de {{total}}',
  outcomes: {
    replayed: '{{number}} reprocessados',
    purged: '{{number}} excluídos',
    added: '{{number}} adicionados',
    raised: '{{number}} prorrogados',
    unchanged: '{{number}} já estavam na lista',
    payloadPurged: '{{number}} sem conteúdo, não reprocessados',
    notFound: '{{number}} não existem mais',
    held: '{{number}} em uso por outro processo',
    refused: '{{number}} recusados',
  },
  chosen: '{{number}} selecionados',
  all: 'Todos',
  by: 'por {{name}}',
  stop: 'Interromper',
  lastError: 'O último lote falhou e será tentado de novo: {{error}}',
  refusedLines: 'Linhas recusadas ({{number}})',
  line: 'Linha {{line}}: {{problem}}',
  earlier_one: '{{count, number}} ação anterior',
  earlier_other: '{{count, number}} ações anteriores',
  fewer: 'Ocultar ações anteriores',
}
