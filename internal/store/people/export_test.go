package people

// Plans are queries that must read indexes alone, with parameters.
var Plans = map[string][]any{
	budgetUseSQL:  {"project", 1, 2},
	accountSQL(2): {1, 1, 1, "task", 1, "run", "task", 1, "run"},
}

// BudgetUseSQL is the query of BudgetUse.
var BudgetUseSQL = budgetUseSQL

// AuditStatements are the queries of the audit log, with parameters.
var AuditStatements = map[string][]any{auditBetween: {"0", "g", 100}, auditCount: {"0", "g", 100}}
