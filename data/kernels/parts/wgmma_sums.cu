// Lists of a warpgroup's sums d[...] as operands of wgmma (SUM_OPERAND: of which kind), sixteen at a time: PTX wants each register by its name.
#define SUMS_8(i) SUM_OPERAND(d[i]), SUM_OPERAND(d[i + 1]), SUM_OPERAND(d[i + 2]), SUM_OPERAND(d[i + 3]), SUM_OPERAND(d[i + 4]), SUM_OPERAND(d[i + 5]), SUM_OPERAND(d[i + 6]), SUM_OPERAND(d[i + 7])
#define SUMS_16(i) SUMS_8(i), SUMS_8(i + 8)
#define NAMES_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define NAMES_48 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define NAMES_80 ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define NAMES_96 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define NAMES_112 ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
