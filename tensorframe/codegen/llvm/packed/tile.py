"""A tile of a packed product: some rows and vectors of the result, which stay in registers."""

from __future__ import annotations


class Tile:
    """The function that makes one tile; the last vector of its columns under a mask."""

    def __init__(self, scalar: str, size: int, lanes: int, rows: int, vectors: int) -> None:
        self._scalar, self._size, self._lanes = scalar, size, lanes
        self._rows, self._vectors = range(rows), range(vectors)
        self._kind, self._mask = f"<{lanes} x {scalar}>", f"<{lanes} x i1>"
        self._number = f"v{lanes}f{8 * size}"
        self._cells = [(row, column) for row in self._rows for column in self._vectors]

    def text(self) -> str:
        """Return the function."""
        name = f"tile_{len(self._rows)}_{len(self._vectors)}"
        parameters = (
            "ptr %left, i64 %row_step, i64 %term_step, i64 %count, ptr %right, ptr %result, "
            "i64 %pitch, i64 %more, i64 %last, ptr %ahead, i64 %line_step"
        )
        head = f"define internal void @{name}({parameters}) noinline {{"
        return "\n".join([head, *self._entry(), *self._loop(), *self._exit(), "}"])

    def _entry(self) -> list[str]:
        lines = ["entry:", f"  %mask = call {self._mask} @first_lanes(i64 %last)"]
        for row in self._rows:
            lines += [
                f"  %by{row} = mul i64 %row_step, {row}",
                f"  %left{row} = getelementptr i8, ptr %left, i64 %by{row}",
                f"  %down{row} = mul i64 %pitch, {row}",
                f"  %result{row} = getelementptr i8, ptr %result, i64 %down{row}",
            ]
        lines += [
            f"  %cell{row}_{column} = getelementptr {self._kind}, ptr %result{row}, i64 {column}"
            for row, column in self._cells
        ]
        lines += [
            "  %fresh = icmp eq i64 %more, 0",
            "  br i1 %fresh, label %begin, label %resume",
            "resume:",
        ]
        lines += [
            f"  %old{row}_{column} = {self._load(f'%cell{row}_{column}', column)}"
            for row, column in self._cells
        ]
        return [*lines, "  br label %loop", "begin:", "  br label %loop"]

    def _load(self, place: str, column: int) -> str:
        if column != self._vectors[-1]:
            return f"load {self._kind}, ptr {place}, align {self._size}"
        function = f"@llvm.masked.load.{self._number}.p0"
        masked = f"{self._mask} %mask, {self._kind} zeroinitializer"
        return f"call {self._kind} {function}(ptr {place}, i32 {self._size}, {masked})"

    def _loop(self) -> list[str]:
        kind, bytes_ = self._kind, len(self._vectors) * self._lanes * self._size
        lines = [
            "loop:",
            "  %i = phi i64 [0, %begin], [0, %resume], [%next, %loop]",
            "  %along = phi i64 [0, %begin], [0, %resume], [%further, %loop]",
            "  %from = phi ptr [%right, %begin], [%right, %resume], [%beyond, %loop]",
        ]
        for row, column in self._cells:
            cell = f"{row}_{column}"
            start = f"[zeroinitializer, %begin], [%old{cell}, %resume]"
            lines.append(f"  %sum{cell} = phi {kind} {start}, [%total{cell}, %loop]")
        for column in self._vectors:
            lines += [
                f"  %there{column} = getelementptr {kind}, ptr %from, i64 {column}",
                f"  %y{column} = load {kind}, ptr %there{column}, align {self._size}",
            ]
        for row in self._rows:
            lines += [
                f"  %here{row} = getelementptr i8, ptr %left{row}, i64 %along",
                f"  %x{row} = load {self._scalar}, ptr %here{row}, align {self._size}",
                f"  %one{row} = insertelement {kind} poison, {self._scalar} %x{row}, i64 0",
                f"  %all{row} = shufflevector {kind} %one{row}, {kind} poison, <{self._lanes} x i32> zeroinitializer",
            ]
            for column in self._vectors:
                cell = f"{row}_{column}"
                operands = f"{kind} %all{row}, {kind} %y{column}, {kind} %sum{cell}"
                lines.append(
                    f"  %total{cell} = call {kind} @llvm.fmuladd.{self._number}({operands})"
                )
        return [
            *lines,
            *self._asked(),
            "  %next = add nuw i64 %i, 1",
            "  %further = add i64 %along, %term_step",
            f"  %beyond = getelementptr i8, ptr %from, i64 {bytes_}",
            "  %again = icmp ult i64 %next, %count",
            "  br i1 %again, label %loop, label %exit",
        ]

    def _asked(self) -> list[str]:
        """Return the prefetch of a line every other term, as fast as lines come; narrow tiles have no time for it."""
        if len(self._vectors) == 1:
            return []
        return [
            "  %pair = lshr i64 %i, 1",
            "  %by_pair = mul i64 %pair, %line_step",
            "  %line = getelementptr i8, ptr %ahead, i64 %by_pair",
            "  call void @llvm.prefetch.p0(ptr %line, i32 0, i32 2, i32 1)",
        ]

    def _exit(self) -> list[str]:
        lines = ["exit:"]
        for row, column in self._cells:
            cell = f"{row}_{column}"
            if column != self._vectors[-1]:
                lines.append(
                    f"  store {self._kind} %total{cell}, ptr %cell{cell}, align {self._size}"
                )
                continue
            operands = (
                f"{self._kind} %total{cell}, ptr %cell{cell}, i32 {self._size}, {self._mask} %mask"
            )
            lines.append(f"  call void @llvm.masked.store.{self._number}.p0({operands})")
        return [*lines, "  ret void"]
